#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/rng.h"
#include "search/plan_cost.h"
#include "search/policy/episode.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// All pieces, each on a device, or none.
struct Rollout {
  bool complete = false;  ///< if not, a piece fits nowhere, or it was stopped
  bool stopped = false;
  std::vector<PolicyPiece> pieces;  ///< with their devices
  PlacedPlan placed;
};

/// An allowed device by the softmax of the scores, as `uniform` in [0, 1) has it.
std::int32_t drawn_device(std::span<const float> scores, std::span<const unsigned char> allowed,
                          double uniform);

/// Halves what fits nowhere, where that can be done; nothing else cuts pieces in a rollout.
struct Halving {
  const PieceCutter& cutter;
  PolicyRun& run;  ///< learns the halves
};

/// Places the pieces in their order, each on the policy's best device, or, with `rng`, on a
/// drawn_device(). What fits nowhere is halved, with `halving`: the halves come where `before` has
/// them among the pieces that are left. `progress` is told how many are placed.
Rollout roll_out(Episode& episode, const EpisodeSetting& setting,
                 std::span<const PolicyPiece> pieces,
                 bool (*before)(const PolicyPiece&, const PolicyPiece&), const Halving* halving,
                 Rng* rng, const StopCheck& stop, ProgressSink* progress = nullptr);

}  // namespace neuroshard::search
