#pragma once

#include <cmath>
#include <cstdint>

#include "search/local/local_walk.h"

// The walks of a cycle: generations of several at a time, from hot to cool. Found best on the
// reference tasks and small ones, at 60,000 candidates a task.

namespace neuroshard::search {

inline constexpr int kGenerations = 8;
inline constexpr int kWalks = 4;             // of a generation, at least
inline constexpr int kRivalGenerations = 4;  // first ones, that may go on from two plans

/// Of walk `index`: those of a generation differ in their heat.
inline WalkOptions heated_walk(std::int32_t devices, int generation, std::int64_t index) {
  constexpr double kLaterHeat = 0.5;   // of the generations after the first, of its heat
  constexpr double kHottestWalk = 30;  // times the coolest, of the kWalks
  WalkOptions options = default_walk(devices);
  if (generation > 0) options.first_heat *= kLaterHeat;
  options.first_heat *= std::pow(kHottestWalk, static_cast<double>(index % kWalks) / (kWalks - 1));
  return options;
}

}  // namespace neuroshard::search
