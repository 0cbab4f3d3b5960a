#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/dense_model.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/iteration/kernel_times.h"

namespace neuroshard {

/// One operator of the dense part, on one device.
struct DenseOperator {
  std::string name;
  double ms = 0;
  std::int32_t kernels = 1;
  double gradient_bytes = 0;  ///< of weights whose gradients it completes
};

/// The dense part of a step, in the order in which its operators run.
struct DenseStep {
  std::vector<DenseOperator> bottom_forward;
  std::vector<DenseOperator> interaction_forward;
  std::vector<DenseOperator> top_forward;   ///< the loss is its last
  std::vector<DenseOperator> top_backward;  ///< the loss is its first
  std::vector<DenseOperator> interaction_backward;
  std::vector<DenseOperator> bottom_backward;
  std::vector<DenseOperator> optimizer;
  double parameters = 0;  ///< of all layers, biases included
};

/// The operators of `model` on top of the workload's tables for `samples` samples of one device. A
/// layer is one matrix product with bias and activation in it; its backward pass is one for the
/// gradient of its input, which the first layer of the bottom network does not need, and one for
/// that of its weights. Element-wise passes of cross layers: 4 forward, 8 backward (Lin et al.,
/// 2201.07821, count passes the same way). Errors: kInvalidInput where the interaction is of dot
/// products and the columns to multiply are not as many everywhere.
Result<DenseStep> make_dense_step(const DenseModel& model, const Workload& workload, double samples,
                                  const KernelRates& rates);

}  // namespace neuroshard
