#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/core/thread_pool.h"
#include "engine/ground_truth/sim/profile_library.h"

namespace neuroshard::bench {

enum class CaseKind {
  kPlan,      ///< cost of a plan, ms
  kLookup,    ///< forward and backward of all tables on one device, ms each
  kExchange,  ///< an all-to-all of equal messages as benchmarks of collectives take it, ms
};

/// One published measurement to simulate.
struct Case {
  CaseKind kind = CaseKind::kPlan;
  std::string profile;  ///< "V100-32G+nvswitch"
  Workload workload;    ///< kPlan, kLookup
  Plan plan;            ///< kPlan
  std::int32_t ranks = 0;
  double bytes = 0;  ///< kExchange: that each rank sends, its own part included
};

/// An array of objects, each with "kind" and "profile" and
/// - "plan": "tables" (a path) and "of" (indices into that file, tables may recur), "devices",
///   "device_of" (of each table, whole);
/// - "lookup": "tables" and "of";
/// - "exchange": "ranks" and "bytes".
/// Errors: kInvalidInput with the place; those of the table files.
Result<std::vector<Case>> read_cases(const std::string& path);

/// What the simulator says of each, two values of a lookup, with profiles by "NAME+LINKS".
Result<std::vector<double>> simulate_cases(const std::vector<Case>& cases,
                                           const std::map<std::string, ChosenProfile>& profiles,
                                           ThreadPool& pool);

}  // namespace neuroshard::bench
