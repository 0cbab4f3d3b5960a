#include "cuda/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <vector>

namespace neuroshard::cuda {

Result<Library> Library::open(const std::string& file) {
  std::vector<std::string> paths{file};
  const auto add = [&](const char* variable, const std::string& below) {
    const char* value = std::getenv(variable);
    std::istringstream folders(value != nullptr ? value : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (!folder.empty()) paths.push_back(folder + below + "/" + file);
    }
  };
  add("NEUROSHARD_CUDA_LIBRARIES", "");
  add("CUDA_HOME", "/lib64");
  paths.push_back("/usr/local/cuda/lib64/" + file);
  std::string first_error;
  std::string there;  // and does not open all the same
  for (const std::string& path : paths) {
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return Library(handle, file);
    const char* said = dlerror();
    const std::string why = said != nullptr ? said : path + " does not open";
    if (first_error.empty()) first_error = why;
    std::error_code ignored;
    const bool found = path != file && std::filesystem::exists(path, ignored);
    if (found && there.empty()) there = path + " does not load: " + why;
  }
  if (!there.empty()) return unavailable("backend cuda: " + there);
  return unavailable("backend cuda: " + first_error +
                     "; NEUROSHARD_CUDA_LIBRARIES may name the folder it is in");
}

Result<void*> Library::symbol(const char* name) const {
  if (void* address = dlsym(handle_, name)) return address;
  return unavailable("backend cuda: " + file_ + " has no " + name);
}

}  // namespace neuroshard::cuda
