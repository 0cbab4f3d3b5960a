#pragma once

#include <string>

#include "apps/console/console.h"
#include "engine/ground_truth/sim/iteration_file.h"

namespace neuroshard::apps {

/// What people see.
std::string iteration_report(const Console& console, const IterationOutcome& outcome);

}  // namespace neuroshard::apps
