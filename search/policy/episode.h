#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "search/plan_cost.h"
#include "search/plan_evaluator.h"
#include "search/policy/device_room.h"
#include "search/policy/placement_policy.h"
#include "search/policy/policy_pieces.h"

namespace neuroshard::search {

/// What pieces are placed on, and what all of them come to.
struct EpisodeSetting {
  std::int64_t memory_bytes = 0;  ///< of each device
  float balanced_ms = 0;
  float mean_dims = 0;
  float mean_pieces = 0;
  double piece_ms = 0;  ///< of all pieces, each alone
};

/// That of these pieces.
EpisodeSetting episode_setting(std::span<const PolicyPiece> pieces, const PlanEvaluator& evaluator,
                               std::int64_t memory_bytes);

/// Makes the pieces' shapes known to the run.
void learn_shapes(std::span<const PolicyPiece> pieces, PolicyRun& run);

/// The devices while pieces go to them, one after the other: offer() a piece, look, place() it.
/// Allocates nothing once made. Not thread-safe: one a thread; the evaluator and the policy's run
/// must outlive it.
class Episode {
 public:
  Episode(const PlanEvaluator& evaluator, const PolicyRun& run);

  /// Back to empty devices.
  void reset(const EpisodeSetting& setting);

  /// As DeviceRoom::offer(), and finds out what the policy is told.
  bool offer(const PolicyPiece& piece);
  // Of the piece offered last.
  [[nodiscard]] const Standing& standing() const { return standing_; }
  /// [devices]
  [[nodiscard]] std::span<const unsigned char> allowed() const { return room_.allowed(); }
  /// [devices, the policy's state size], as they are without the piece.
  [[nodiscard]] std::span<const float> policy_states() const { return policy_states_; }
  /// [devices]; those of devices that are not allowed mean nothing. To be asked for once a piece,
  /// as policies remember what they were asked about.
  [[nodiscard]] std::span<const float> scores(const PolicyPiece& piece);
  /// The allowed device with the highest score, of equals the lowest: sooner than by scores(), in
  /// whose place it is asked. REQUIRES that all pieces before went where this said.
  [[nodiscard]] std::int32_t best_device(const PolicyPiece& piece);
  /// REQUIRES that the piece was offered and is allowed there.
  void place(const PolicyPiece& piece, std::int32_t device);

  [[nodiscard]] std::int32_t devices() const { return evaluator_.devices(); }
  [[nodiscard]] const PlacedPlan& placed() const { return placed_; }

 private:
  const PlanEvaluator& evaluator_;
  const PolicyRun& run_;
  EpisodeSetting setting_;
  Standing standing_;
  double placed_ms_ = 0;
  AlignedVector<float> states_;         // [devices, the evaluator's state size]
  AlignedVector<float> policy_states_;  // [devices, the run's]
  AlignedVector<float> memory_;         // the run's
  PlacedPlan placed_;
  std::vector<float> after_;
  std::vector<float> scores_;
  DeviceRoom room_;
  std::unique_ptr<DeviceChooser> chooser_;
  std::unique_ptr<DeviceCosts> costs_;  // null: of the evaluator itself
  Scratch scratch_;
};

}  // namespace neuroshard::search
