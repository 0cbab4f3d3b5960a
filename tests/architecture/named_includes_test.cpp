// A file includes what it names, itself or through this project's headers: a build that compiles
// the files of a folder as one (NEUROSHARD_JOIN_FOLDERS) would hide a missing #include from
// everybody but those who compile file by file. Followed are types and functions of the project's
// headers, and the names of the standard library in kStandard, which no other standard header has
// to bring.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/architecture/source_tokens.h"

namespace {

namespace fs = std::filesystem;

/// The header of each, by name.
std::map<std::string, std::string> standard_names() {
  const std::vector<std::pair<std::string, std::string>> headers{
      {"algorithm",
       "sort stable_sort max_element min_element clamp any_of all_of none_of find_if count_if"},
      {"algorithm", "lower_bound upper_bound"},
      {"array", "array"},
      {"atomic", "atomic"},
      {"bit", "bit_cast bit_width"},
      {"charconv", "from_chars to_chars"},
      {"chrono", "chrono"},
      {"cmath", "isfinite sqrt exp log pow ceil floor llround"},
      {"condition_variable", "condition_variable"},
      {"cstdio", "snprintf"},
      {"cstdlib", "getenv"},
      {"cstring", "memcpy memset strerror"},
      {"deque", "deque"},
      {"filesystem", "filesystem"},
      {"fstream", "ifstream"},
      {"functional", "function"},
      {"limits", "numeric_limits"},
      {"map", "map"},
      {"memory", "unique_ptr make_unique shared_ptr make_shared"},
      {"mutex", "mutex lock_guard"},
      {"numbers", "numbers"},
      {"numeric", "iota accumulate"},
      {"optional", "optional nullopt"},
      {"set", "set"},
      {"span", "span"},
      {"sstream", "ostringstream istringstream"},
      {"string", "string to_string"},
      {"string_view", "string_view"},
      {"thread", "thread"},
      {"tuple", "tuple"},
      {"unordered_map", "unordered_map"},
      {"variant", "variant get_if"},
      {"vector", "vector"}};
  std::map<std::string, std::string> names;
  for (const auto& [header, list] : headers) {
    std::istringstream in(list);
    for (std::string name; in >> name;) names.emplace(name, header);
  }
  return names;
}

struct File {
  std::set<std::string> standard, project;  ///< headers that it includes
  std::vector<Token> tokens;
  std::set<std::string> names;      ///< every name in it
  std::set<std::string> types;      ///< that it declares anywhere
  std::set<std::string> functions;  ///< that it declares outside of classes
  std::set<std::string> locals;     ///< that it calls and has of its own: functions, parameters
};

using Files = std::map<std::string, File>;

bool is_type_word(const std::string& text) {
  static const std::set<std::string> words{"struct", "class",    "enum",
                                           "using",  "typename", "concept"};
  return words.contains(text);
}

/// Whether the call of a name after `before` could as well be its declaration: `Plan f(`, `auto&
/// f(`.
bool after_type(const std::string& before) {
  static const std::set<std::string> not_types{"return", "else",      "do",
                                               "throw",  "co_return", "case"};
  return !before.empty() && !not_types.contains(before) &&
         (of_name(before.back()) || before == ">" || before == "*" || before == "&");
}

File parse(std::string_view text) {
  File file;
  for (std::size_t at = text.find("#include "); at != std::string_view::npos;
       at = text.find("#include ", at + 1)) {
    const char open = text[at + 9];
    const std::size_t end = text.find(open == '<' ? '>' : '"', at + 10);
    (open == '<' ? file.standard : file.project).emplace(text.substr(at + 10, end - at - 10));
  }
  file.tokens = tokens_of(text);
  for (const Token& token : file.tokens) {
    if (!of_name(token.text.front())) continue;
    file.names.insert(token.text);
    if (is_type_word(token.before)) file.types.insert(token.text);
    const bool called = token.after == "(";
    if (called && after_type(token.before)) {
      file.locals.insert(token.text);
      if (token.opens_line) file.functions.insert(token.text);
    }
    if (!called && token.before != "::") file.locals.insert(token.text);
  }
  return file;
}

/// The project's headers that `file` sees, and `file`.
void add_visible(const Files& files, const std::string& file, std::set<std::string>& visible) {
  const auto found = files.find(file);
  if (found == files.end() || !visible.insert(file).second) return;
  for (const std::string& next : found->second.project) add_visible(files, next, visible);
}

/// What the headers declare, each name with a header that has it.
struct Declared {
  std::map<std::string, std::string> types, functions;
};

Declared declared_in(const Files& files) {
  Declared declared;
  for (const auto& [name, file] : files) {
    if (!name.ends_with(".h")) continue;
    for (const std::string& type : file.types) declared.types.emplace(type, name);
    for (const std::string& function : file.functions) declared.functions.emplace(function, name);
  }
  return declared;
}

/// "std::vector without <vector>" and alike, one a name.
std::set<std::string> missing_in(const Files& files, const Declared& declared,
                                 const std::string& path) {
  static const std::map<std::string, std::string> standard = standard_names();
  // What sockets, std::chrono and a template's argument bring under the same name.
  static const std::set<std::string> elsewhere{"bind", "milliseconds", "to_string"};
  const File& self = files.at(path);
  std::set<std::string> visible;
  add_visible(files, path, visible);
  const auto seen = [&](const auto& has) {
    return std::ranges::any_of(visible, [&](const auto& name) { return has(files.at(name)); });
  };
  std::set<std::string> missing;
  for (const Token& token : self.tokens) {
    const std::string& name = token.text;
    if (token.before == "::" && token.owner == "std") {
      const auto header = standard.find(name);
      if (header == standard.end()) continue;
      if (!seen([&](const File& file) { return file.standard.contains(header->second); })) {
        missing.insert("std::" + name + " without <" + header->second + ">");
      }
      continue;
    }
    if (token.before == "." || token.before == "->") continue;
    if (const auto type = declared.types.find(name); type != declared.types.end()) {
      if (std::isupper(static_cast<unsigned char>(name.front())) != 0 &&
          !seen([&](const File& file) { return file.types.contains(name); })) {
        missing.insert(name + " without " + type->second);
      }
    } else if (const auto function = declared.functions.find(name);
               function != declared.functions.end() && token.after == "(" &&
               !self.locals.contains(name)) {
      const bool ours = token.before != "::" || token.owner == "io" || token.owner == "neuroshard";
      const bool known = elsewhere.contains(name) || seen([&](const File& file) {
                           return &file != &self && file.names.contains(name);
                         });
      if (ours && !known) missing.insert(name + "() without " + function->second);
    }
  }
  return missing;
}

Files read_files() {
  Files files;
  const fs::path root = NEUROSHARD_SOURCE_DIR;
  for (const std::string_view top : {"engine", "nn", "search", "io", "cuda", "apps"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string kind = entry.path().extension().string();
      if (kind != ".h" && kind != ".cpp") continue;
      std::ifstream in(entry.path());
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      files.emplace(fs::relative(entry.path(), root).string(), parse(text));
    }
  }
  return files;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(named_includes)

BOOST_AUTO_TEST_CASE(every_file_includes_what_it_names) {
  const Files files = read_files();
  BOOST_REQUIRE_GT(files.size(), 500u);
  const Declared declared = declared_in(files);
  for (const auto& [path, file] : files) {
    for (const std::string& missing : missing_in(files, declared, path)) {
      BOOST_ERROR(path + ": " + missing);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_missing_include_is_found) {
  const std::string plan =
      "#include <vector>\nstruct Plan {};\nint devices_of(const Plan& plan);\n";
  const auto missing = [&](const std::string& text) {
    const Files files{{"core/plan.h", parse(plan)}, {"a.cpp", parse(text)}};
    return missing_in(files, declared_in(files), "a.cpp");
  };
  BOOST_TEST(missing("std::vector<int> a;\n").contains("std::vector without <vector>"));
  BOOST_TEST(missing("void f(Plan p);\n").contains("Plan without core/plan.h"));
  BOOST_TEST(
      missing("int f() { return devices_of({}); }\n").contains("devices_of() without core/plan.h"));
  const std::string include = "#include \"core/plan.h\"\n";
  BOOST_TEST(missing(include + "int f(Plan p) { return devices_of(p); }\n").empty());
  BOOST_TEST(missing(include + "std::vector<Plan> plans;\n").empty());  // through the header
  BOOST_TEST(missing("struct Plan;\nvoid f(const Plan& p);\n").empty());
  BOOST_TEST(missing("// Plan, std::vector\nconst char* a = \"Plan std::vector\";\n").empty());
  BOOST_TEST(missing("int devices_of(int a);\nint b = devices_of(1);\n").empty());  // its own
}

BOOST_AUTO_TEST_SUITE_END()
