#include "engine/core/step_buffers.h"

#include <array>

#include "engine/core/quoted_choices.h"

namespace neuroshard {
namespace {

constexpr std::array kAllStepBuffers{StepBuffers::kOff, StepBuffers::kTrainBase,
                                     StepBuffers::kTrainSparseDist,
                                     StepBuffers::kTrainPrefetchSparseDist};

}  // namespace

std::span<const StepBuffers> all_step_buffers() { return kAllStepBuffers; }

std::string_view to_string(StepBuffers buffers) {
  switch (buffers) {
    case StepBuffers::kTrainBase:
      return "train_base";
    case StepBuffers::kTrainSparseDist:
      return "train_sparse_dist";
    case StepBuffers::kTrainPrefetchSparseDist:
      return "train_prefetch_sparse_dist";
    default:
      return "off";
  }
}

Result<StepBuffers> parse_step_buffers(std::string_view text) {
  for (const StepBuffers buffers : kAllStepBuffers) {
    if (text == to_string(buffers)) return buffers;
  }
  return invalid_input("buffers '" + std::string(text) + "', expected " +
                       quoted_choices(all_step_buffers()));
}

}  // namespace neuroshard
