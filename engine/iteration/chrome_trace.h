#pragma once

#include <string>

#include "engine/iteration/iteration_cost.h"

namespace neuroshard {

/// The step of all devices as a trace that Perfetto and chrome://tracing open (JSON trace event
/// format): a process for each device, a thread for each stream, microseconds from the first task
/// on. Tasks of no time are left out.
std::string format_chrome_trace(const IterationCost& cost);

}  // namespace neuroshard
