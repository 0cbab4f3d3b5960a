#include "cuda/communicator.h"

#include <algorithm>

namespace neuroshard::cuda {

std::int64_t first_sample(std::int64_t batch, std::int64_t world, std::int64_t rank) {
  return batch / world * rank + std::min(rank, batch % world);
}

}  // namespace neuroshard::cuda
