#pragma once

#include <string>
#include <vector>

#include "apps/console/console.h"
#include "io/reports/compare_report.h"

namespace neuroshard::apps {

/// The algorithm whose cost is the lowest there is without splits.
inline constexpr const char* kOptimum = "exact";

/// Lower bounds beside a report; none where the cost models have no bound for every task.
struct TaskBounds {
  std::vector<double> ms;  ///< of the tasks, in their order
  std::string plans;       ///< what plans they are of, as bounded_plans() says
};

/// A line for each algorithm: tasks solved, mean cost over the tasks that can be compared, mean
/// seconds, wins, and how far above the optimum and the bounds it is; below it what that means,
/// what time limits left no room for, and refusals().
std::string compare_summary(const Console& console, const io::CompareReport& report,
                            const TaskBounds& bounds);

/// A line for each algorithm that refused tasks, which may have a feasible plan: on how many, and
/// the first reason.
std::vector<std::string> refusals(const io::CompareReport& report);

}  // namespace neuroshard::apps
