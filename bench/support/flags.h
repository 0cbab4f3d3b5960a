#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/flags/flags.h"
#include "engine/core/status.h"

namespace neuroshard::bench {

/// Rounds, runs and the like, of which nobody waits for more.
inline constexpr std::int64_t kMaxRounds = 1'000'000;

/// Assigns the flags of a program. The exit code where that is all it does: 0 after --help, which
/// prints `about` and the flags, 2 after one line that says what is wrong. `words` are those of the
/// command line, the program's name first.
std::optional<int> read_flags(apps::FlagSet& flags, std::string_view about,
                              const std::vector<std::string>& words);

/// 0, or 2 after the line that says what is wrong.
int exit_code_of(const Status& status);

}  // namespace neuroshard::bench
