#include "apps/exit_code.h"

#include <array>

namespace neuroshard::apps {
namespace {

constexpr std::array kExitCodes{
    ExitCode{0, "done"},
    ExitCode{1, "failed (writing files, hardware, interrupted before a result)"},
    ExitCode{2, "bad usage or input"}, ExitCode{3, "no feasible plan"}};

}  // namespace

std::span<const ExitCode> exit_codes() { return kExitCodes; }

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
