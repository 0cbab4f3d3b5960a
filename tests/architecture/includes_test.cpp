// DESIGN: a file includes only rooms of a lower rank than its own; rooms of equal rank never see
// each other; nobody includes tests/ or bench/; CUDA headers stay in cuda/.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const std::vector<std::pair<std::string, int>> kRooms{
    // longest prefix first
    {"engine/core/", 0}, {"nn/", 1},     {"search/", 1}, {"io/", 1},
    {"cuda/", 2},        {"engine/", 3}, {"apps/", 4}};

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

/// The breach that `line` of a file in room `from` commits, or an empty string.
std::string breach(const std::string& file, const std::string& line) {
  static const std::regex quoted(R"(^\s*#\s*include\s*[<"]([^">]+)[">])");
  std::smatch match;
  if (!std::regex_search(line, match, quoted)) return {};
  const std::string included = match[1];
  const Room from = room_of(file);
  const Room to = room_of(included);
  static const std::regex cuda(R"(^(cuda|cublas|nccl|cub/|thrust/|curand|nvtx))");
  if (from.name != "cuda/" && to.rank < 0 && std::regex_search(included, cuda)) {
    return "CUDA header outside cuda/";
  }
  if (included.starts_with("tests/") || included.starts_with("bench/")) return "tests included";
  if (included.find("..") != std::string::npos) return "relative include";
  if (to.rank < 0 || to.name == from.name) return {};
  if (to.rank >= from.rank) return from.name + " may not see " + to.name;
  const bool public_room = to.name == "engine/core/" || to.name == "io/" || to.name == "engine/";
  if (from.name == "apps/" && !public_room) return "apps/ sees only engine/ and io/";
  return {};
}

std::vector<fs::path> sources(const fs::path& root) {
  static const std::set<std::string> kinds{".h", ".cpp", ".cu", ".cuh"};
  std::vector<fs::path> files;
  for (const auto& [prefix, rank] : kRooms) {
    if (prefix == "engine/core/") continue;  // walked with engine/
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / prefix)) {
      if (kinds.contains(entry.path().extension().string())) files.push_back(entry.path());
    }
  }
  return files;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(includes)

BOOST_AUTO_TEST_CASE(no_file_includes_a_room_it_may_not_know) {
  const fs::path root = NEUROSHARD_SOURCE_DIR;
  const std::vector<fs::path> files = sources(root);
  BOOST_REQUIRE_GT(files.size(), 30u);  // a wrong root must not pass
  for (const fs::path& path : files) {
    const std::string relative = fs::relative(path, root).string();
    std::ifstream in(path);
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      const std::string what = breach(relative, line);
      BOOST_TEST(what.empty(), relative << ":" << number << ": " << what << ": " << line);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_rule_itself_can_fail) {
  BOOST_TEST(!breach("nn/mlp.cpp", "#include \"io/file.h\"").empty());
  BOOST_TEST(!breach("engine/core/plan.h", "#include \"engine/planner.h\"").empty());
  BOOST_TEST(!breach("search/grid.cpp", "#include \"nn/mlp.h\"").empty());
  BOOST_TEST(!breach("apps/plan.cpp", "#include \"search/sharder.h\"").empty());
  BOOST_TEST(!breach("engine/planner.cpp", "#include <cuda_runtime.h>").empty());
  BOOST_TEST(!breach("engine/planner.cpp", "  #  include <nccl.h>").empty());
  BOOST_TEST(!breach("io/file.cpp", "#include \"tests/support/paths.h\"").empty());
  BOOST_TEST(!breach("io/file.cpp", "#include \"../nn/mlp.h\"").empty());
  BOOST_TEST(breach("engine/planner.cpp", "#include \"search/sharder.h\"").empty());
  BOOST_TEST(breach("engine/ground_truth/x.cpp", "#include \"cuda/device.h\"").empty());
  BOOST_TEST(breach("cuda/kernels.cu", "#include <cuda_runtime.h>").empty());
}

BOOST_AUTO_TEST_SUITE_END()
