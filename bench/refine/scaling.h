#pragma once

#include <vector>

#include "bench/refine/setup.h"

namespace neuroshard::bench {

/// The best baseline, the first plan and what longer searches make of it.
void scale(const Setup& setup, const char* title, const Workload& workload, const Cluster& cluster,
           const std::vector<double>& limits);
/// What one budget of plans takes on more threads.
void threads(const Setup& setup);
/// How many candidates more threads look at in the same time, and what one costs them.
void restarts(const Setup& setup);

}  // namespace neuroshard::bench
