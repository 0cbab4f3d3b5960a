#pragma once

#include <cstdint>
#include <memory>

#include "cuda/training/product_counts.h"
#include "engine/core/status.h"
#include "nn/backend.h"

namespace neuroshard::cuda {

/// How lists of operations reached the GPU so far.
struct TrainingCounts {
  std::int64_t issued = 0;    ///< one by one
  std::int64_t captured = 0;  ///< into a graph, and replayed at once
  std::int64_t replayed = 0;  ///< as a graph from before
  std::int64_t refused = 0;   ///< captures that failed; those lists are issued one by one
  ProductCounts products;     ///< what cuBLASLt has had kernels for
};

/// Training on a GPU: products by cuBLASLt with bias, ReLU, its gradient and bias gradients fused
/// into them where cuBLASLt can, everything else by kernels of this room. Operations are kept until
/// something else is asked for (a copy, a wait): what is then there, a whole step of training, is
/// one list. A list that comes the second time with the same arguments is captured into a CUDA
/// graph, and from then on is one launch; others (a first time, a last smaller batch) are issued
/// one by one in the same stream. Either way the same kernels run: equal bits. Results agree with
/// the CPU's within rounding. Thread-safe.
class TrainingBackend : public nn::Backend {
 public:
  [[nodiscard]] virtual TrainingCounts counts() const = 0;
};

struct TrainingOptions {
  bool graphs = true;
};

/// cuBLASLt is opened from the system's libraries, NEUROSHARD_CUDA_LIBRARIES (a folder) or
/// CUDA_HOME. Errors: kUnavailable without a GPU or cuBLASLt, in one line that names what is
/// missing; memory.
Result<std::unique_ptr<TrainingBackend>> make_training_backend(const TrainingOptions& options);

/// One of these for the whole program, made on the first call; lives until the program ends.
Result<const nn::Backend*> training_backend();

}  // namespace neuroshard::cuda
