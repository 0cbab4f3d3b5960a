#pragma once

#include <string>
#include <vector>

#include "apps/console/console.h"
#include "engine/core/cluster.h"
#include "io/reports/sweep_report.h"

namespace neuroshard::apps {

/// "8 x 74.5 GiB".
std::string size_text(const Cluster& cluster);

/// A line for each cluster: what its plan costs, in milliseconds and in those of all its devices,
/// the memory it fills, and whether it is worth it; below it what that means, why the others have
/// no plan, and time_remarks(). `bounded` is what plans the lower bounds are of.
std::string sweep_summary(const Console& console, const io::SweepReport& report,
                          const std::string& bounded);

/// A line for what time limits ended and each thing that they left no room for.
std::vector<std::string> time_remarks(const io::SweepReport& report);

}  // namespace neuroshard::apps
