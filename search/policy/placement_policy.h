#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "search/plan_evaluator.h"

namespace neuroshard::search {

/// What a policy is told when a piece is about to be placed. Spans have a value a device, of what
/// the devices hold without the piece unless said otherwise.
struct Standing {
  float placed = 0;                      ///< share of all pieces' single costs that is placed
  std::span<const float> cost_ms;        ///< predicted
  std::span<const float> cost_after_ms;  ///< the same with the piece
  std::span<const std::int64_t> dims;    ///< that travel: PlanEvaluator::exchanged()
  std::span<const std::int64_t> bytes;
  float balanced_ms = 0;  ///< what each device would cost if all had the same share of every piece
  float mean_dims = 0;    ///< of a device when all pieces are placed
  float mean_pieces = 0;  ///< the same; policies that add pieces up know by it how many are many
  std::int64_t memory_bytes = 0;  ///< of each device
  std::int64_t piece_dims = 0;
  std::int64_t piece_bytes = 0;
};

/// A piece that is about to be placed.
struct Offer {
  ShapeId shape = 0;
  Standing standing;
  std::span<const float> states;           ///< [devices, state_size()], without the piece
  std::span<const unsigned char> allowed;  ///< [devices]: where it may go
};

/// Finds where a policy would have pieces, through an episode. Not thread-safe: one a thread.
class DeviceChooser {
 public:
  virtual ~DeviceChooser() = default;

  /// To be called before the first piece of an episode.
  virtual void reset() = 0;
  /// The allowed device with the highest of PolicyRun::scores(), of equals the lowest, to the bit;
  /// is asked in the place of those, once a piece, and has the same `memory`. REQUIRES an allowed
  /// device, and that since reset() no other piece was placed than those that were asked about,
  /// each where this said, on devices that were empty.
  virtual std::int32_t best(const Offer& offer, std::span<float> memory) = 0;
};

/// A policy at work on one workload. It has a state of state_size() floats for every device, which
/// whoever places pieces owns: the cleared one, changed by place() for every piece on the device.
/// Thread-safety: learn() needs it to itself; all else may run in parallel, on states of its own.
class PolicyRun {
 public:
  virtual ~PolicyRun() = default;

  /// Makes shapes known; those that are already are skipped. `ids[k]` is the evaluator's number of
  /// shapes[k]. REQUIRES that all else is asked about known shapes alone.
  virtual void learn(std::span<const ShapeId> ids, std::span<const ShardShape> shapes) = 0;

  [[nodiscard]] virtual std::size_t state_size() const = 0;
  virtual void clear(float* state) const = 0;
  virtual void place(ShapeId shape, float* state) const = 0;
  /// Floats that it remembers the pieces by that it was asked about before.
  [[nodiscard]] virtual std::size_t memory_size() const { return 0; }
  /// scores[d] = how much the policy is for device d, finite; `states` is [devices, state_size()].
  /// `memory` [memory_size()] is 0 before the first piece of an episode and is brought up to date:
  /// scores are asked for once a piece, in the order of placing. Devices of equal states and
  /// standing have equal scores.
  virtual void scores(ShapeId shape, const Standing& standing, std::span<const float> states,
                      std::span<float> memory, std::span<float> scores, Scratch& scratch) const = 0;
  /// One for as many devices, which this must outlive. Looks at all scores unless the policy has a
  /// faster way.
  [[nodiscard]] virtual std::unique_ptr<DeviceChooser> chooser(std::int32_t devices) const;
};

/// What decides where pieces go, one after the other. Const access is thread-safe.
class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;

  /// Goes to work on a workload, which must outlive what is returned, and so must the policy.
  [[nodiscard]] virtual std::unique_ptr<PolicyRun> begin(const Workload& workload) const = 0;
};

}  // namespace neuroshard::search
