#include "apps/flags/backend_flag.h"

namespace neuroshard::apps {

Result<io::Backend> backend_of(const std::string& word) {
  for (const io::Backend backend : {io::Backend::kCpu, io::Backend::kSim, io::Backend::kCuda}) {
    if (to_string(backend) == word) return backend;
  }
  return invalid_input("--backend: found '" + word + "', expected cuda, cpu or sim");
}

}  // namespace neuroshard::apps
