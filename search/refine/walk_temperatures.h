#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "search/local/local_walk.h"

// The walks of a cycle: generations of several at a time, from hot to cool.
// golden_costs_bench, means of ten settings: 4 generations +0.03 %, 16 +0.16 (DLRM-DCNv2 most); the
// hottest walk 10 times the coolest +0.07, 100 times +0.04; later generations at a quarter of the
// first's temperature +0.07, at all of it +0.05.

namespace neuroshard::search {

inline constexpr int kGenerations = 8;
inline constexpr int kWalks = 4;  // of a generation, at least
// First generations of a cycle in which some walks go on from rivals of the best plan. (44 tasks
// each of 12 to 100 generated tables on 4, 8, 16 and 32 devices, 100,000 candidates by h200_sim and
// h100_sim, two rivals beside a search without them: in 2 generations 0.5, 0.6, 0.6 and 1.4 %
// cheaper, in 4 0.7, 0.6, 0.4 and 1.4; with three rivals the same.)
inline constexpr int kRivalGenerations = 4;

/// So many generations' budget goes to walks over divisions before the first. (144 tasks of 8 to 40
/// generated tables on 4 to 32 devices, 100,000 candidates, h200_sim: with 1 or 4 plans are 0.15
/// and 0.06 % costlier in the mean; 96 of them, 600,000 candidates: with 3 0.03 % cheaper.)
inline constexpr int kDivisionGenerations = 2;

inline constexpr int kSoftGenerations = kGenerations / 2;  // first ones, see soften()

/// Of walk `index`: those of a generation differ in their temperature.
inline WalkOptions walk_at(std::int32_t devices, int generation, std::int64_t index) {
  constexpr double kLaterShare = 0.5;  // of the generations after the first, of its temperature
  constexpr double kHottestWalk = 30;  // times the coolest, of the kWalks
  WalkOptions options = default_walk(devices);
  if (generation > 0) options.first_temperature *= kLaterShare;
  options.first_temperature *=
      std::pow(kHottestWalk, static_cast<double>(index % kWalks) / (kWalks - 1));
  return options;
}

/// How much the balanced load counts in the objective of a long walk, see CostEstimate. All walks
/// with the default prefer balanced plans to cheap ones, on 16 devices most. (Compared at 200,000
/// and 1,000,000 candidates with 2 for all, three seeds each: h200_sim, 12 tasks of 60 to 100 DLRM
/// tables on 16 devices 0.9 and 0.7 % cheaper, 10 of 20 to 40 tables 0.1 and 0.4 %, DLRM-DCNv2 on 8
/// devices 0.5 and 0.7 %; the reference's tasks on 4 and 8 devices 0.03 % costlier at most.)
inline double balance_weight(int generation, std::int64_t index) {
  constexpr std::array<double, kWalks> kWeights{2, 0.5, 0.1, 0.02};
  return kWeights[static_cast<std::size_t>((generation + index) % kWalks)];
}

/// Loads count in a norm that hardens while the walk goes on, from the exponent 8 to 128, which is
/// next to the slowest device. For costs that do not add up. 100,000 candidates beside none of it:
/// eight settings of golden_costs_bench by networks are 0.8 % cheaper in the mean (little memory
/// 1.7, 64 devices 1.3; the reference's tasks on 8 devices 0.1 % costlier). 300,000 and 1,000,000
/// candidates, 12 tasks of 8 to 100 generated tables on 2 to 32 devices, three seeds: 1.6 and 1.3 %
/// on top of what other layouts of tables on every device bring (with_random_relayout()). Exponents
/// from 4 to 64, half of the walks of all generations, and two to eight times the temperature are
/// 0.1 to 0.8 % costlier.
/// With `dims` these do, too: several devices have the most, and all have to lose some before the
/// exchanges get faster. In every second walk, and in those of relayouts: golden_costs_bench beside
/// loads alone: 80 tasks each of networks_8, _16 and of little memory are 0.2, 0.4 and 0.4 %
/// cheaper, 48 of networks_64 0.7, 60 of reference_8 0.2 % costlier; in all walks 0.1, 0.2, 0.7 and
/// 0.2 cheaper, 0.3 costlier.
inline void soften(WalkOptions& options, bool dims) {
  options.first_norm = 3;
  options.last_norm = 7;
  options.soft_dims = dims;
}

}  // namespace neuroshard::search
