#pragma once

#include "engine/training/train.h"

namespace neuroshard::test {

/// Networks of exchanges that are trained in no time.
inline CommTrainOptions quick_comm(CommArchitecture architecture) {
  CommTrainOptions options = default_comm_options();
  options.architecture = architecture;
  options.hidden_widths = {32, 16};
  options.fit.epochs = 60;
  options.fit.batch_size = 64;
  options.fit.learning_rate = 5e-3;
  return options;
}

}  // namespace neuroshard::test
