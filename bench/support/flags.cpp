#include "bench/support/flags.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>

namespace neuroshard::bench {

std::optional<int> read_flags(apps::FlagSet& flags, std::string_view about,
                              const std::vector<std::string>& words) {
  const std::string program = std::filesystem::path(words.front()).filename();
  const auto arguments = std::span(words).subspan(1);
  if (std::find(arguments.begin(), arguments.end(), "--help") != arguments.end()) {
    std::printf("%s\n\nusage: %s%s\n\n%s", std::string(about).c_str(), program.c_str(),
                flags.usage().c_str(), flags.help().c_str());
    return 0;
  }
  const Status status = flags.parse(arguments);
  if (status.ok()) return std::nullopt;
  std::fprintf(stderr, "%s: %s\n", program.c_str(), status.message().c_str());
  return 2;
}

int exit_code_of(const Status& status) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 2;
}

}  // namespace neuroshard::bench
