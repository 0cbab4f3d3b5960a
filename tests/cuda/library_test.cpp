// Where libraries that are opened at run time are looked for.
#include "cuda/library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace neuroshard::cuda {
namespace {

/// Where the loader has found a library that is always there.
std::string path_of(const char* name) {
  void* const handle = dlopen(name, RTLD_NOW);
  link_map* map = nullptr;
  BOOST_REQUIRE(handle != nullptr && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0);
  return map->l_name;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(library)

BOOST_AUTO_TEST_CASE(every_folder_that_is_named_is_looked_into) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("neuroshard_library_" + std::to_string(getpid()));
  fs::create_directories(folder / "second");
  const std::string file = "libneuroshard_test.so.7";
  fs::create_symlink(path_of("libm.so.6"), folder / "second" / file);
  BOOST_TEST((Library::open(file).status().code() == StatusCode::kUnavailable));
  setenv("NEUROSHARD_CUDA_LIBRARIES",
         (folder.string() + "::" + (folder / "second").string()).c_str(), 1);
  const auto opened = Library::open(file);
  unsetenv("NEUROSHARD_CUDA_LIBRARIES");
  fs::remove_all(folder);
  BOOST_REQUIRE_MESSAGE(opened.ok(), opened.status().message());
  double (*cosine)(double) = nullptr;
  BOOST_TEST(opened->find("cos", cosine).ok());
  BOOST_TEST(cosine(0) == 1);
  const Status missing = opened->find("no_such_function", cosine);
  BOOST_TEST(missing.message().find(file + " has no no_such_function") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_library_that_is_there_and_does_not_open_says_why) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("neuroshard_broken_" + std::to_string(getpid()));
  fs::create_directories(folder);
  const std::string file = "libneuroshard_broken.so.7";
  std::ofstream(folder / file) << "no library";
  setenv("NEUROSHARD_CUDA_LIBRARIES", ("/nowhere:" + folder.string()).c_str(), 1);
  const std::string message = Library::open(file).status().message();
  unsetenv("NEUROSHARD_CUDA_LIBRARIES");
  fs::remove_all(folder);
  BOOST_TEST_CONTEXT(message) {
    BOOST_TEST(message.find((folder / file).string() + " does not load: ") != std::string::npos);
    BOOST_TEST(message.find("cannot open") == std::string::npos);
  }
  const std::string missing = Library::open(file).status().message();
  BOOST_TEST(missing.find("cannot open shared object file") != std::string::npos);
  BOOST_TEST(missing.find("NEUROSHARD_CUDA_LIBRARIES") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::cuda
