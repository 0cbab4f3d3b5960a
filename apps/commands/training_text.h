#pragma once

#include <string>
#include <utility>
#include <vector>

#include "apps/console/console.h"
#include "engine/training/train.h"

namespace neuroshard::apps {

/// Finished trainings, by the name of the network.
using TrainReports = std::vector<std::pair<std::string, const TrainReport*>>;

/// For each network: validation error over the epochs as a line of eight heights (where the console
/// has them), some epochs of the curve, and what came out.
std::string training_text(const Console& console, const TrainReports& reports);

}  // namespace neuroshard::apps
