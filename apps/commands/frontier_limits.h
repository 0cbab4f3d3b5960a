#pragma once

#include <string>

#include "engine/core/status.h"
#include "engine/planner/frontier/frontier.h"

namespace neuroshard::apps {

/// What --within says: limits separated by commas, each once, a time ("2.5ms"), a size of memory
/// ("40GB") or a number of devices ("8"). kInvalidInput otherwise.
Result<FrontierLimits> parse_frontier_limits(const std::string& text);

/// "time", "memory", "devices". REQUIRES one of these.
LeastOf least_of(const std::string& word);

}  // namespace neuroshard::apps
