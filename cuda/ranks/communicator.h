#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>

#include "cuda/ranks/rendezvous.h"
#include "engine/core/status.h"

namespace neuroshard::cuda {

/// Collectives between the GPUs of a group, one process each, by NCCL. Memory is that of this
/// process's GPU; work goes to the communicator's own stream, after everything that was given to
/// the GPU before. Calls return before it is done: `wait` says how it went. All ranks make the same
/// calls in the same order. Not thread-safe.
class Communicator {
 public:
  virtual ~Communicator() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int world() const = 0;

  /// The all-to-all of pooled embeddings: rank r holds dims[r] columns of the whole batch in
  /// `pooled`, [batch x dims[r]], and gets all columns of its samples in `local`, [its samples x
  /// sum of dims], the columns of rank 0 first. Rank r keeps batch / world samples in a row, the
  /// first ranks one more. REQUIRES one dim >= 0 a rank, and `local` on a 16-byte border.
  virtual Status exchange_forward(std::span<const std::int64_t> dims, std::int64_t batch,
                                  const float* pooled, float* local) = 0;
  /// The way back, for gradients: `local` of every rank to `pooled`.
  virtual Status exchange_backward(std::span<const std::int64_t> dims, std::int64_t batch,
                                   const float* local, float* pooled) = 0;

  /// Sums over the ranks, in place.
  virtual Status all_reduce(float* values, std::int64_t count) = 0;
  /// out [count]: part number rank() of the sums of values, [world x count].
  virtual Status reduce_scatter(const float* values, float* out, std::int64_t count) = 0;
  /// out [world x count]: the values, [count], of all ranks.
  virtual Status all_gather(const float* values, float* out, std::int64_t count) = 0;

  /// Meets all ranks, on the GPUs: what is given to the communicator behind it begins when all of
  /// them have come to it.
  virtual Status barrier() = 0;
  /// Has what is given to the GPU's default stream from now on wait for this rank's work, so that
  /// exchanges can stand between kernels and be timed among them.
  virtual Status join() = 0;

  /// Waits until this rank's work is done. Errors: kUnavailable when a rank has died or the limit
  /// has passed; then the group is over: work is given up, here and by the others, and every later
  /// call fails.
  virtual Status wait(std::chrono::milliseconds limit) = 0;
};

/// Makes the communicator of a group that has met: opens NCCL, takes the GPU number local_rank (of
/// those there are) and joins the others within the limit. `group` must outlive it.
/// Errors: kUnavailable without NCCL or a GPU, or when a rank is missing or dies.
Result<std::unique_ptr<Communicator>> make_communicator(Rendezvous& group,
                                                        std::chrono::milliseconds limit);

}  // namespace neuroshard::cuda
