#pragma once

#include "bench/search/setup.h"
#include "bench/support/report.h"

namespace neuroshard::bench {

/// Whole searches of `neuroshard` by task size, one thread, and how far the costs of the plans
/// found with each instruction set are apart.
void run_searches(const SearchSetup& setup, Report& report);

}  // namespace neuroshard::bench
