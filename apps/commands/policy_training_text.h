#pragma once

#include <string>

#include "engine/policy/policy_training.h"

namespace neuroshard::apps {

/// What a training did, for people: the plans that it measured, if any; some looks at the held-out
/// tasks, evenly spread, the best and the last among them; and which update is kept.
std::string policy_training_text(const PolicyReport& report, PolicyReward reward);

}  // namespace neuroshard::apps
