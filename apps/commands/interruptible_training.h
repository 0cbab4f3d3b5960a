#pragma once

#include <functional>

#include "engine/core/status.h"
#include "engine/training/train.h"

namespace neuroshard::apps {

/// What `train` returns, which goes by `control`: with a progress bar, and ended by an interrupt,
/// after which no model is written.
Status train_interruptibly(TrainControl& control, const std::function<Status()>& train);

}  // namespace neuroshard::apps
