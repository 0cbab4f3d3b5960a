#include "engine/core/algorithm_name.h"

namespace neuroshard {

std::string display_name(std::string_view algorithm) {
  return std::string(algorithm) + (algorithm == "neuroshard" ? " (paper)" : "");
}

}  // namespace neuroshard
