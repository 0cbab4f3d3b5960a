// What devices' costs are in a step: one after the other or, with a dense part, beside it.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "engine/cost_model/mlp_evaluator.h"

namespace neuroshard {
namespace {

constexpr double kMsPerNs = 1e-6;
constexpr double kNsPerMs = 1e6;
constexpr double kMostMs = 1e6;        // of a shard: networks that overflow say more
constexpr double kLookupParts = 1000;  // of DeviceWork

/// Never NaN, so that plans can be compared: infinities of opposite signs are an infinite cost.
double comparable(double ms) { return ms == ms ? ms : std::numeric_limits<double>::infinity(); }

}  // namespace

/// With what a shard does in a step beside what it has travel.
search::Exchanged MlpEvaluator::with_work(const ShardShape& shape, search::Exchanged all) const {
  if (!dense_) return all;
  const auto ns = [](double ms) { return std::llround(ms * kNsPerMs); };
  const auto table = static_cast<std::size_t>(shape.table);
  const Table& whole = workload_.tables[table];
  const double rows = static_cast<double>(shape.rows) / static_cast<double>(whole.rows);
  const bool replica = shape.replicated && shape.kernel.hot_rows == 0;
  if (replica && !dense_->replicas.empty()) {
    const ReplicaLookup& own = dense_->replicas[table];
    all.collectives.forward_ns = ns(own.forward_ms);
    all.collectives.backward_ns = ns(own.backward_ms);
    return all;
  }
  if (!shape.replicated) {
    all.work.lookups = std::llround(kLookupParts * whole.pooling_factor * rows);
  }
  if (dense_->shares.empty()) return all;
  const double launches = dense_->launches_ms() + dense_->launches_saved_ms;
  const double ms = std::clamp(compute_.cost_if_known(shape) - launches, 0.0, kMostMs);
  const LookupShares& shares = dense_->shares[table];
  const double sort_ms = std::min(ms, shares.sort_ms * rows);
  all.work.all_ns = ns(ms);
  all.work.forward_ns = ns((ms - sort_ms) * shares.forward);
  if (dense_->sorts_beside) all.work.sort_ns = ns(sort_ms);
  return all;
}

/// Of a device's compute, the lookups within a step.
double MlpEvaluator::lookups_ms(float compute_ms) const {
  return std::max(0.0, compute_ms - dense_->launches_saved_ms);
}

/// What all devices of a plan have in common of their steps.
StepLoad MlpEvaluator::common_load(const search::PlanBatch& batch, std::size_t plan) const {
  StepLoad load;
  if (!dense_) return load;
  const search::Collectives all = collectives_of(batch, plan);
  const double each = 1.0 / devices_;  // all devices' are counted
  load.replicas = {kMsPerNs * static_cast<double>(all.forward_ns) * each,
                   kMsPerNs * static_cast<double>(all.backward_ns) * each};
  if (all.forward_ns > 0 || all.backward_ns > 0) {
    load.replicas.forward_ms += dense_->launch_forward_ms;
    load.replicas.backward_ms += dense_->launch_backward_ms;
  }
  load.reduced_bytes = static_cast<double>(all.reduced_bytes) * each;
  if (batch.work.empty()) return load;
  std::int64_t lookups = 0;
  const auto devices = static_cast<std::size_t>(devices_);
  for (const search::DeviceWork& own : batch.work.subspan(plan * devices, devices)) {
    lookups = std::max(lookups, own.lookups);
  }
  load.input_ms = dense_->input_ms(static_cast<double>(lookups) / kLookupParts);
  return load;
}

/// Of one device's costs; without a dense part they follow one another.
StepTime MlpEvaluator::time_of(StepLoad load, const search::DeviceWork& work, float compute,
                               float backward, float forward) const {
  if (!dense_) {
    const double ready = static_cast<double>(compute) + backward;
    return {comparable(ready), comparable(ready + forward)};
  }
  const double lookups = lookups_ms(compute);
  const double own = std::max(0.0, lookups - dense_->launches_ms());
  if (work.all_ns > 0) {
    const double each = own / static_cast<double>(work.all_ns);
    load.lookup_forward_ms =
        std::min(lookups, dense_->launch_forward_ms) + each * static_cast<double>(work.forward_ns);
    load.sort_ms = each * static_cast<double>(work.sort_ns);
  }
  load.lookup_backward_ms = lookups - load.lookup_forward_ms - load.sort_ms;
  load.exchange_forward_ms = forward;
  load.exchange_backward_ms = backward;
  const StepTime time = step_time(*dense_, load);
  return {comparable(time.ready_ms), comparable(time.total_ms)};
}

}  // namespace neuroshard
