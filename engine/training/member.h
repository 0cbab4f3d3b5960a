#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/core/rng.h"
#include "engine/core/status.h"
#include "engine/core/thread_pool.h"
#include "engine/training/fit_problem.h"
#include "nn/backend.h"
#include "nn/trainer.h"

namespace neuroshard {

/// One network of a fit, with first weights and an order of samples of its own. Not thread-safe.
class FitMember {
 public:
  /// Number `number` of a fit, with that part of the problem. Everything given must outlive it.
  static Result<FitMember> create(const nn::Backend& backend, ThreadPool& pool,
                                  const FitProblem& problem, const FitOptions& options,
                                  std::size_t number);

  /// Shuffles the training part anew and learns from all of it; the mean loss. kCancelled when the
  /// token says so.
  Result<double> run_epoch(std::int32_t epoch, const CancelToken* cancel);
  /// Outputs for its validation part, of the averaged weights where there are such. Valid until
  /// the next call.
  Result<std::span<const float>> validate();
  /// The weights that validate() uses.
  Result<std::vector<float>> parameters() const;

 private:
  FitMember(nn::Trainer trainer, const FitProblem& problem, const FitPart& part,
            const FitOptions& options, Rng rng);

  nn::Trainer trainer_;
  const FitProblem* problem_;
  const FitPart* part_;
  const FitOptions* options_;
  Rng rng_;
  std::vector<std::int32_t> order_;
  std::vector<float> outputs_;
  std::int64_t step_ = 0;
};

}  // namespace neuroshard
