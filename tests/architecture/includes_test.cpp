// The house: a file includes only rooms of a lower rank than its own; rooms of equal rank never see
// each other; no modules include each other in a circle; nobody includes tests/ or bench/; CUDA
// headers stay in cuda/.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

const std::vector<std::pair<std::string, int>> kRooms{{"engine/core/", 0},
                                                      {"nn/", 1},
                                                      {"search/", 1},
                                                      {"io/", 1},
                                                      {"cuda/", 2},
                                                      {"apps/", 5},
                                                      {"engine/training/", 3},
                                                      {"engine/planner/", 3},
                                                      {"engine/iteration/", 3},
                                                      {"engine/policy/", 3},
                                                      {"engine/ground_truth/", 4},
                                                      {"engine/api/", 5},
                                                      {"engine/cost_model/", 2}};

struct Room {
  std::string name;
  int rank = -1;
};

Room room_of(const std::string& path) {
  for (const auto& [prefix, rank] : kRooms) {
    if (path.starts_with(prefix)) return {prefix, rank};
  }
  return {};
}

/// What the line includes, or an empty string.
std::string included_by(const std::string& line) {
  static const std::regex include(R"(^\s*#\s*include\s*[<"]([^">]+)[">])");
  std::smatch match;
  return std::regex_search(line, match, include) ? match[1].str() : std::string();
}

/// The breach that `line` of a file in room `from` commits, or an empty string.
std::string breach(const std::string& file, const std::string& line) {
  const std::string included = included_by(line);
  if (included.empty()) return {};
  const Room from = room_of(file);
  const Room to = room_of(included);
  static const std::regex cuda(R"(^(cuda|cublas|nccl|cub/|thrust/|curand|nvtx))");
  if (from.name != "cuda/" && to.rank < 0 && std::regex_search(included, cuda)) {
    return "CUDA header outside cuda/";
  }
  if (included.starts_with("tests/") || included.starts_with("bench/")) return "tests included";
  if (included.find("..") != std::string::npos) return "relative include";
  if (to.rank < 0) return included.starts_with("engine/") ? "engine/ has no such room" : "";
  if (to.name == from.name) return {};
  if (to.rank >= from.rank) return from.name + " may not see " + to.name;
  const bool public_room = to.name == "io/" || to.name.starts_with("engine/");
  if (from.name == "apps/" && !public_room) return "apps/ sees only engine/ and io/";
  return {};
}

/// A header and its source are one module.
std::string module_of(const std::string& path) { return path.substr(0, path.rfind('.')); }

/// Which modules each module includes.
using Modules = std::map<std::string, std::set<std::string>>;

enum class Visit { kOpen, kDone };

/// A circle that can be reached from `module`, first to last; empty: there is none.
std::vector<std::string> circle_from(const std::string& module, const Modules& modules,
                                     std::map<std::string, Visit>& visits,
                                     std::vector<std::string>& path) {
  const auto visit = visits.find(module);
  if (visit != visits.end()) {
    if (visit->second == Visit::kDone) return {};
    return {std::find(path.begin(), path.end(), module), path.end()};
  }
  visits[module] = Visit::kOpen;
  path.push_back(module);
  const auto found = modules.find(module);
  if (found != modules.end()) {
    for (const std::string& next : found->second) {
      if (next == module) continue;
      std::vector<std::string> circle = circle_from(next, modules, visits, path);
      if (!circle.empty()) return circle;
    }
  }
  path.pop_back();
  visits[module] = Visit::kDone;
  return {};
}

/// "a -> b -> a", or an empty string.
std::string find_circle(const Modules& modules) {
  std::map<std::string, Visit> visits;
  for (const auto& [module, includes] : modules) {
    std::vector<std::string> path;
    const std::vector<std::string> circle = circle_from(module, modules, visits, path);
    if (circle.empty()) continue;
    std::string text;
    for (const std::string& each : circle) text += each + " -> ";
    return text + circle.front();
  }
  return {};
}

std::vector<fs::path> sources(const fs::path& root) {
  static const std::set<std::string> kinds{".h", ".cpp", ".cu", ".cuh"};
  std::vector<fs::path> files;
  for (const std::string_view top : {"engine", "nn", "search", "io", "cuda", "apps"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top)) {
      if (kinds.contains(entry.path().extension().string())) files.push_back(entry.path());
    }
  }
  return files;
}

/// Calls `see(file, number, line)` for every line of every source, files relative to the root.
template <typename See>
std::size_t read_sources(const See& see) {
  const fs::path root = NEUROSHARD_SOURCE_DIR;
  const std::vector<fs::path> files = sources(root);
  for (const fs::path& path : files) {
    const std::string relative = fs::relative(path, root).string();
    std::ifstream in(path);
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) see(relative, number, line);
  }
  return files.size();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(includes)

BOOST_AUTO_TEST_CASE(no_file_includes_a_room_it_may_not_know) {
  const std::size_t files =
      read_sources([](const std::string& file, int number, const std::string& line) {
        const std::string what = breach(file, line);
        BOOST_TEST(what.empty(), file << ":" << number << ": " << what << ": " << line);
      });
  BOOST_REQUIRE_GT(files, 30u);  // a wrong root must not pass
}

BOOST_AUTO_TEST_CASE(every_file_is_in_a_room) {
  std::set<std::string> homeless;
  read_sources([&](const std::string& file, int, const std::string&) {
    if (room_of(file).rank < 0) homeless.insert(file);
  });
  for (const std::string& file : homeless) BOOST_ERROR(file + " is in no room");
}

BOOST_AUTO_TEST_CASE(no_modules_include_each_other_in_a_circle) {
  Modules modules;
  read_sources([&](const std::string& file, int, const std::string& line) {
    const std::string included = included_by(line);
    if (room_of(included).rank >= 0) modules[module_of(file)].insert(module_of(included));
  });
  BOOST_REQUIRE_GT(modules.size(), 30u);
  const std::string circle = find_circle(modules);
  BOOST_TEST(circle.empty(), circle);
}

BOOST_AUTO_TEST_CASE(the_rule_itself_can_fail) {
  BOOST_TEST(!breach("nn/mlp.cpp", "#include \"io/file.h\"").empty());
  BOOST_TEST(!breach("engine/core/plan.h", "#include \"engine/planner/planner.h\"").empty());
  BOOST_TEST(!breach("engine/cost_model/x.cpp", "#include \"engine/planner/planner.h\"").empty());
  BOOST_TEST(!breach("engine/cost_model/x.cpp", "#include \"cuda/device.h\"").empty());
  BOOST_TEST(!breach("engine/training/x.cpp", "#include \"engine/planner/planner.h\"").empty());
  BOOST_TEST(!breach("engine/planner/x.cpp", "#include \"engine/ground_truth/x.h\"").empty());
  BOOST_TEST(!breach("engine/planner/x.cpp", "#include \"engine/elsewhere/x.h\"").empty());
  BOOST_TEST(!breach("search/grid.cpp", "#include \"nn/mlp.h\"").empty());
  BOOST_TEST(!breach("apps/plan.cpp", "#include \"search/problem.h\"").empty());
  BOOST_TEST(!breach("engine/planner/planner.cpp", "#include <cuda_runtime.h>").empty());
  BOOST_TEST(!breach("engine/planner/planner.cpp", "  #  include <nccl.h>").empty());
  BOOST_TEST(!breach("io/file.cpp", "#include \"tests/support/paths.h\"").empty());
  BOOST_TEST(!breach("io/file.cpp", "#include \"../nn/mlp.h\"").empty());
  BOOST_TEST(breach("engine/planner/planner.cpp", "#include \"search/problem.h\"").empty());
  BOOST_TEST(breach("engine/ground_truth/x.cpp", "#include \"cuda/device.h\"").empty());
  BOOST_TEST(breach("cuda/kernels.cu", "#include <cuda_runtime.h>").empty());
}

BOOST_AUTO_TEST_CASE(a_circle_is_found_however_long) {
  BOOST_TEST(find_circle({{"a", {"b"}}, {"b", {"c"}}, {"c", {}}}).empty());
  BOOST_TEST(find_circle({{"a", {"a"}}}).empty());  // a source includes its own header
  BOOST_TEST(find_circle({{"a", {"b"}}, {"b", {"a"}}}) == "a -> b -> a");
  BOOST_TEST(find_circle({{"a", {"b"}}, {"b", {"c"}}, {"c", {"d"}}, {"d", {"b"}}}) ==
             "b -> c -> d -> b");
}

BOOST_AUTO_TEST_SUITE_END()
