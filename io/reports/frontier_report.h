#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/plans/plan_document.h"

namespace neuroshard::io {

/// A plan of a frontier, with its costs.
struct FrontierPlan {
  std::int64_t memory_bytes = 0;  ///< of the fullest device
  PlanDocument document;
};

/// The plans of one workload that no other beats in devices, memory and cost at once, as
/// `neuroshard frontier` reports them.
struct FrontierReport {
  std::string workload;             ///< "26 tables, 97.4 GiB, batch 65,536", for people
  std::string cost_origin;          ///< what the costs are of, for people
  std::vector<FrontierPlan> plans;  ///< by devices, then memory
};

/// `neuroshard-frontier` version 1, docs/FILE_FORMATS.md: each point with a whole plan file.
/// Deterministic.
std::string format_frontier(const FrontierReport& report);

/// One page without scripts and without anything loaded from elsewhere: cost against memory, a line
/// of steps for each number of devices, and the points in a table. REQUIRES a plan at least.
std::string format_frontier_page(const FrontierReport& report);

}  // namespace neuroshard::io
