#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "engine/core/hot_rows.h"
#include "engine/core/plan.h"

namespace neuroshard::search {

/// Number of a shape an evaluator has seen, from 0 in the order of first sight.
using ShapeId = std::int32_t;

/// Memory an evaluator works in; it grows on first use and is then reused. One a thread.
using Scratch = AlignedVector<float>;

/// What decides which collectives a step has, counted over the shards of all devices: sums of what
/// each shard brings.
struct Collectives {
  std::int64_t outputs = 0;        ///< shards whose outputs go by the all-to-all
  std::int64_t partial_dims = 0;   ///< columns whose partial sums hosts add up
  std::int64_t scatters = 0;       ///< shards of those that go by a reduce-scatter
  std::int64_t in_steps = 0;       ///< shards of those that hosts add up before they send them on
  std::int64_t reduced_bytes = 0;  ///< of gradients of replicas, which an all-reduce adds up
  /// Of replicas that are looked up by themselves, nanoseconds before and after what outputs meet.
  std::int64_t forward_ns = 0;
  std::int64_t backward_ns = 0;
  /// Columns of hot rows, whose sums are added to those that arrive of the cold rows.
  std::int64_t merged_dims = 0;

  Collectives& operator+=(const Collectives& other) {
    outputs += other.outputs;
    partial_dims += other.partial_dims;
    scatters += other.scatters;
    in_steps += other.in_steps;
    reduced_bytes += other.reduced_bytes;
    forward_ns += other.forward_ns;
    backward_ns += other.backward_ns;
    merged_dims += other.merged_dims;
    return *this;
  }
  Collectives& operator-=(const Collectives& other) {
    outputs -= other.outputs;
    partial_dims -= other.partial_dims;
    scatters -= other.scatters;
    in_steps -= other.in_steps;
    reduced_bytes -= other.reduced_bytes;
    forward_ns -= other.forward_ns;
    backward_ns -= other.backward_ns;
    merged_dims -= other.merged_dims;
    return *this;
  }
};

/// What a device does in a step beside what its compute and its dims say, added up over its shards.
struct DeviceWork {
  std::int64_t sum_dims = 0;   ///< of the dims, which hosts add up before they send them on
  std::int64_t near_dims = 0;  ///< columns of such sums, whatever of them leaves the host
  std::int64_t lookups = 0;    ///< of rows, a sample, in thousandths
  /// Nanoseconds of lookups of each shard by itself, and what of them is before outputs travel, and
  /// while they do: shares of the device's compute.
  std::int64_t all_ns = 0;
  std::int64_t forward_ns = 0;
  std::int64_t sort_ns = 0;

  DeviceWork& operator+=(const DeviceWork& other) {
    sum_dims += other.sum_dims;
    near_dims += other.near_dims;
    lookups += other.lookups;
    all_ns += other.all_ns;
    forward_ns += other.forward_ns;
    sort_ns += other.sort_ns;
    return *this;
  }
  DeviceWork& operator-=(const DeviceWork& other) {
    sum_dims -= other.sum_dims;
    near_dims -= other.near_dims;
    lookups -= other.lookups;
    all_ns -= other.all_ns;
    forward_ns -= other.forward_ns;
    sort_ns -= other.sort_ns;
    return *this;
  }
};

/// What a shape has travel in a step.
struct Exchanged {
  /// Columns of one output a sample that are as many values as those its device sends.
  std::int64_t dims = 0;
  Collectives collectives{};
  DeviceWork work{};
  /// Columns that each device of the shard's host sends of what the host adds up. They count once,
  /// however many shards of the same columns it adds up.
  std::int64_t host_dims = 0;
};

/// Complete plans of one device count, to be costed together.
struct PlanBatch {
  int plans = 0;
  /// [plans, devices], from place() or empty_cost(); where costs add up (additive()) these have the
  /// shards' exchanges in them, too.
  std::span<const float> compute_ms;
  std::span<const std::int64_t> dim_sums;      ///< [plans, devices], of Exchanged::dims
  std::span<const Collectives> collectives{};  ///< [plans]; empty: not known, and not counted
  /// [plans, devices], of Exchanged::work; empty: not known, and taken to be nothing, or of no
  /// interest (counts_work()).
  std::span<const DeviceWork> work{};
};

/// Where plan_details() puts what it finds, [plans, devices] each, milliseconds.
struct PlanDetails {
  /// Compute + backward: when a device enters the forward exchange; all of it where costs add up.
  std::span<double> ready_ms;
  std::span<double> total_ms;  ///< a plan's cost is the largest of them
};

/// What devices cost with one shape after the other, while shards go to one device after the other.
/// Not thread-safe.
class DeviceCosts {
 public:
  virtual ~DeviceCosts() = default;

  /// All devices have the cleared state.
  virtual void begin() = 0;
  /// The device has another state.
  virtual void change(std::size_t device, const float* state) = 0;
  /// PlanEvaluator::costs_with() of all devices, to the bit; `states` are what they have by now.
  virtual void costs_with(ShapeId shape, std::span<const float> states, std::span<float> costs) = 0;
};

/// What a search needs to know about costs, whatever they come from.
///
/// A device's shards are represented by a state of state_size() floats that the search owns, copies
/// and throws away: adding a shard updates the state in place, and undoing is going back to a copy
/// (sums of floats drift, so nothing is ever subtracted). A state is the cleared one plus one
/// addend a shard, so searches may also keep sums of some of them and ask what any choice costs.
/// Shards of equal shape cost the same, so a shape is described once, by intern(), and is a number
/// afterwards.
///
/// Thread-safety: intern(), intern_all() and hold() need the evaluator to themselves; all else may
/// run in parallel, on different states and scratch.
class PlanEvaluator {
 public:
  virtual ~PlanEvaluator() = default;

  [[nodiscard]] virtual std::int32_t devices() const = 0;

  /// The shape's number. The first sight of a shape costs a network's forward pass.
  virtual ShapeId intern(const ShardShape& shape) = 0;
  /// What intern() returns for each of them if asked one by one, from the first on. Costs less
  /// where many are new: their forward passes are one batch, and a shape's costs do not depend on
  /// it.
  virtual std::vector<ShapeId> intern_all(std::span<const ShardShape> shapes) {
    std::vector<ShapeId> ids;
    for (const ShardShape& shape : shapes) ids.push_back(intern(shape));
    return ids;
  }
  /// Has every device hold the hot rows of those tables, beside the shards that are placed, and of
  /// no others: a cleared state is one of a device with them, and plans cost what they cost with
  /// them. Needs the evaluator to itself. Evaluators that know no hot rows are given none.
  virtual void hold([[maybe_unused]] std::span<const HotRows> hot) {}
  /// What such a shard has travel; of no interest where costs add up.
  [[nodiscard]] virtual Exchanged exchanged(const ShardShape& shape) const {
    return {shape.dim, {}};
  }
  /// Devices of a host where there are several of them and what shards exchange goes by that, as
  /// Exchanged::host_dims; or 0.
  [[nodiscard]] virtual std::int32_t host_devices() const { return 0; }
  /// Whether plans cost what their Exchanged::work says: searches keep no account of it otherwise.
  [[nodiscard]] virtual bool counts_work() const { return false; }
  /// Milliseconds of a device that holds this shape alone.
  [[nodiscard]] virtual double shape_cost(ShapeId shape) const = 0;

  /// Floats per device state, a multiple of 8; states aligned to 64 bytes are fastest.
  [[nodiscard]] virtual std::size_t state_size() const = 0;
  /// Makes `state` that of a device without shards, but with the hot rows that all hold.
  virtual void clear(float* state) const = 0;
  /// Adds a shard to the device; returns the milliseconds of all its shards together (fused).
  /// Never NaN.
  virtual float place(ShapeId shape, float* state) const = 0;
  /// Milliseconds of that device.
  [[nodiscard]] virtual float empty_cost() const = 0;

  /// What a shard adds to a state: state_size() floats, valid until a shape is interned.
  [[nodiscard]] virtual const float* addend(ShapeId shape) const = 0;
  /// Milliseconds of the device whose state is the sum of `parts`, added in that order: one is a
  /// state, the others are addends or sums of addends. At least one part. Never NaN; another order
  /// changes the result by rounding only.
  [[nodiscard]] virtual float cost_of_sum(std::span<const float* const> parts) const = 0;
  /// costs[d] = milliseconds of the device whose state is row d of `states`, [costs.size(),
  /// state_size()], with the shard added: what place() returns but for rounding, the states left as
  /// they are. A device's cost does not depend on the others. Never NaN. The fastest way to ask
  /// where a shard costs least.
  virtual void costs_with(ShapeId shape, std::span<const float> states,
                          std::span<float> costs) const = 0;

  /// A faster way to ask that for all devices again and again, as long as hold() is not called;
  /// null where there is none. The evaluator must outlive it.
  [[nodiscard]] virtual std::unique_ptr<DeviceCosts> device_costs() const { return nullptr; }

  /// Whether a plan costs the same however its devices are renumbered.
  [[nodiscard]] virtual bool devices_alike() const = 0;

  /// Whether a plan's cost is the largest sum of a device's shape_cost()s, beyond rounding.
  [[nodiscard]] virtual bool additive() const { return false; }
  /// shape_cost() of a shape that nobody is going to place, for bounds, which ask about far more
  /// shapes than searches try. Needs the evaluator to itself, as it may intern the shape.
  [[nodiscard]] virtual double additive_cost(const ShardShape& shape) {
    return shape_cost(intern(shape));
  }

  /// costs[p] = cost of plan p in milliseconds, the largest total of a device. Never NaN. A plan's
  /// cost does not depend on the others in the batch.
  virtual void plan_costs(const PlanBatch& batch, std::span<double> costs,
                          Scratch& scratch) const = 0;
  /// The same per device; the largest total of a plan is exactly its plan_costs(). Never NaN.
  virtual void plan_details(const PlanBatch& batch, const PlanDetails& details,
                            Scratch& scratch) const = 0;
};

}  // namespace neuroshard::search
