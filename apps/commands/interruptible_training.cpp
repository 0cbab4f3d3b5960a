#include "apps/commands/interruptible_training.h"

#include "apps/console/progress_bar.h"
#include "apps/interrupt.h"

namespace neuroshard::apps {

Status train_interruptibly(TrainControl& control, const std::function<Status()>& train) {
  ProgressBar progress;
  control.progress = &progress;
  control.cancel = &cancel_token();
  const Status status = train();
  control.progress = nullptr;
  return status.code() == StatusCode::kCancelled ? cancelled("interrupted, no model written")
                                                 : status;
}

}  // namespace neuroshard::apps
