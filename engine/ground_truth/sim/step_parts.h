#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/dense_model.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/ground_truth/sim/plan_loads.h"
#include "engine/ground_truth/sim/profile_library.h"
#include "engine/iteration/dense_step.h"
#include "engine/iteration/step_graph.h"

namespace neuroshard {

// What simulated steps are put together of, whether of a plan or of whatever plan there may be.

/// What is the same in every step of so many devices.
struct StepHardware {
  /// As it is inside a step: with its latency between hosts, and the launches of a CUDA graph where
  /// one launches it.
  ChosenProfile hardware;
  double samples = 0;  ///< of one device
  DenseStep dense;
};
/// Errors: kInvalidInput where the profile knows nothing of dense layers or the model's interaction
/// does not fit the tables.
Result<StepHardware> step_hardware(const ChosenProfile& chosen, const Workload& workload,
                                   std::int32_t devices, const DenseModel& model);

/// Rows that a sample looks up on each device.
std::vector<double> rows_of_devices(const PlanLoads& loads, std::int64_t batch_size);

/// From the devices that have the samples to those that look their rows up: an exchange backward,
/// of `rows`, how many a sample looks up on each device.
double input_exchange_ms(const ChosenProfile& hardware, const std::vector<double>& rows,
                         std::int64_t batch_size);

/// Of a device's samples from its host.
double input_copy_ms(const HardwareProfile& profile, const Workload& workload,
                     const DenseModel& model, double samples);

/// What devices that have so much to do with their tables take; `hardware`: as inside a step.
EmbeddingStep embedding_step(const ChosenProfile& hardware, const Workload& workload,
                             const PlanLoads& loads, const DenseModel& model, double samples);

/// Of `shown` of the devices, all of which exchange.
StepGraph step_graph(const StepHardware& step, const DenseModel& model,
                     const EmbeddingStep& embedding, std::int32_t shown, std::int32_t devices);

}  // namespace neuroshard
