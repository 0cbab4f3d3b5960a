#pragma once

#include <span>
#include <string_view>

#include "search/problem.h"

namespace neuroshard::search {

struct Algorithm {
  std::string_view name;
  std::string_view summary;
  Sharder run;
  /// Ends by itself and soon, for tasks of ordinary size: what other plans are held against.
  bool baseline = false;
  bool heeds_evaluations = false;  ///< SearchOptions::evaluations
  bool makes_row_shards = false;   ///< SearchOptions::row_splits
  bool splits_columns = false;
  bool holds_hot_rows = false;  ///< SearchOptions::hot_rows
  bool heeds_policy = false;    ///< SearchOptions::policy, where there is one
  /// Whether the same input gives the same plan on every machine. Not where it hangs on last digits
  /// of the C library's functions.
  bool same_on_every_machine = true;
};

/// All algorithms, an explicit list: baselines, weakest first, then kDefaultAlgorithm, then
/// yardsticks that run only when asked for by name.
std::span<const Algorithm> algorithms();

/// The algorithms that place tables by a trained policy: SearchOptions::policy. They are not among
/// algorithms(), as nothing can run them without one.
std::span<const Algorithm> policy_algorithms();

inline constexpr std::string_view kDefaultAlgorithm = "refine";

/// The one of that name, of either list, or null.
const Algorithm* find_algorithm(std::string_view name);

}  // namespace neuroshard::search
