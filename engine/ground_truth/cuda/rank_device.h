#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cuda/ranks/rendezvous.h"
#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/ground_truth/ground_truth.h"

namespace neuroshard {

/// What one process of a group measures with: hardware of its own, joined with the others'. The
/// functions that measure are called by all ranks, with equal arguments but for what is a rank's
/// own, and give the rank's own times (medians). Use from one thread.
class RankDevice {
 public:
  virtual ~RankDevice() = default;

  [[nodiscard]] virtual const std::string& hardware() const = 0;
  [[nodiscard]] virtual std::string conditions() const = 0;

  struct ExchangeTime {
    double forward_ms = 0;   ///< from this rank's start until all ranks are done
    double backward_ms = 0;  ///< from the common start until this rank is done
  };
  /// As GroundTruth::measure_all_to_all.
  virtual Result<ExchangeTime> measure_exchange(std::span<const std::int64_t> dims,
                                                std::span<const double> starts_ms,
                                                std::int64_t batch_size) = 0;

  struct StepTime {
    double forward_ms = 0;  ///< lookup
    double exchange_forward_ms = 0;
    double exchange_backward_ms = 0;
    double backward_ms = 0;  ///< gradients into the tables
    double compute_ms = 0;   ///< both lookups of a run together; medians may not add up exactly
  };
  /// Steps of a plan one after the other, without a barrier between them: whoever is late in one
  /// starts late into the next. `own` are this rank's shards, `dims` the columns of all ranks.
  virtual Result<StepTime> measure_step(const Workload& workload, std::span<const Shard> own,
                                        std::span<const std::int64_t> dims) = 0;
};

/// The GPU number local_rank of this machine, with NCCL between the ranks. `group` must outlive it.
/// Errors: kUnavailable without GPU or NCCL, or when another rank has none.
Result<std::unique_ptr<RankDevice>> make_cuda_rank_device(cuda::Rendezvous& group,
                                                          const GroundTruthOptions& options);

}  // namespace neuroshard
