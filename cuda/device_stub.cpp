// Linked instead of the CUDA sources by builds that have none: same functions, honest answers.
#include "cuda/device.h"

namespace neuroshard {

Status device_available() {
  return unavailable(
      "backend cuda: this build has no CUDA kernels; use --backend cpu or --backend sim");
}

}  // namespace neuroshard
