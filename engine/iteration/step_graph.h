#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/core/dense_model.h"
#include "engine/iteration/dense_step.h"
#include "engine/iteration/streams.h"

namespace neuroshard {

/// What a step does with the tables, milliseconds.
struct EmbeddingStep {
  std::vector<double> lookup_forward_ms;   ///< of each device
  std::vector<double> lookup_backward_ms;  ///< of each device, weights updated
  /// Of each device in HugeCTR's order, else empty, as the two above have it in them: lookups of
  /// tables that every device holds, and what sorts the rows of all lookups.
  std::vector<double> replica_forward_ms{};
  std::vector<double> replica_backward_ms{};
  std::vector<double> sort_ms{};
  double exchange_forward_ms = 0;  ///< of all devices, from the start of the last one on
  double exchange_backward_ms = 0;
  double input_exchange_ms = 0;       ///< of the rows to look up, to where they are
  double replica_gradient_bytes = 0;  ///< of tables that every device holds
  double input_copy_ms = 0;           ///< of a device's samples from its host
  std::int32_t forward_kernels = 0;
  std::int32_t backward_kernels = 0;
};

/// The step of a device, as TorchRec's train_sparse_dist pipeline issues it: while a batch is
/// computed, the rows of the next one are exchanged and the one after that is copied. The forward
/// exchange goes on beside the bottom network, the backward one beside its backward pass, and
/// gradients of dense layers are added up, a bucket of them as soon as all of its are there, beside
/// what is still to be computed. In HugeCTR's order (StepSchedule) replicas are looked up and rows
/// sorted beside the forward exchange; the backward exchange is the first to be sent, then all
/// gradients are added up together, which only the optimizer waits for. `all_reduce_ms` is what so
/// many bytes take. REQUIRES as many devices in `embedding` as `devices`.
StepGraph make_step_graph(const DenseModel& model, const DenseStep& dense,
                          const EmbeddingStep& embedding, std::int32_t devices,
                          const std::function<double(double)>& all_reduce_ms);

}  // namespace neuroshard
