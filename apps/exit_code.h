#pragma once

#include <span>
#include <string_view>

#include "engine/core/status.h"

namespace neuroshard::apps {

/// One exit code as help and manual pages explain it.
struct ExitCode {
  int code;
  std::string_view meaning;
};
std::span<const ExitCode> exit_codes();

/// What the process returns to its caller.
int exit_code(const Status& status);

}  // namespace neuroshard::apps
