#include "apps/exit_code.h"

namespace neuroshard::apps {

int exit_code(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return 0;
    case StatusCode::kInvalidInput:
      return 2;
    case StatusCode::kInfeasible:
      return 3;
    case StatusCode::kIoError:
    case StatusCode::kUnavailable:
    case StatusCode::kCancelled:
    case StatusCode::kInternal:
      return 1;
  }
  return 1;
}

}  // namespace neuroshard::apps
