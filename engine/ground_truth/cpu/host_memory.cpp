#include "engine/ground_truth/cpu/host_memory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "engine/core/bytes.h"

namespace neuroshard {
namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

/// The number behind `word` in a file of lines "word number ..".
std::optional<std::int64_t> number_of(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  std::string name;
  std::int64_t value = 0;
  for (std::string line; file >> name; std::getline(file, line)) {
    if (name == word && file >> value) return value;
  }
  return std::nullopt;
}

/// What a control group and those around it have left; file pages are given back when needed.
std::int64_t left_in_group(std::filesystem::path group) {
  std::int64_t left = kUnknown;
  for (; group.native().starts_with("/sys/fs/cgroup"); group = group.parent_path()) {
    std::int64_t most = 0;
    std::int64_t taken = 0;
    // "max" is no number: no limit.
    if (!(std::ifstream(group / "memory.max") >> most)) continue;
    if (!(std::ifstream(group / "memory.current") >> taken)) continue;
    taken -= number_of((group / "memory.stat").string(), "file").value_or(0);
    left = std::min(left, std::max<std::int64_t>(most - taken, 0));
  }
  return left;
}

std::int64_t left_in_groups() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::/")) return left_in_group("/sys/fs/cgroup" + line.substr(3));
  }
  return kUnknown;
}

std::int64_t left_in_machine() {
  const std::optional<std::int64_t> kibibytes = number_of("/proc/meminfo", "MemAvailable:");
  return kibibytes ? *kibibytes * 1024 : kUnknown;
}

}  // namespace

Status check_available(std::int64_t bytes, const char* what) {
  const std::int64_t left = std::min(left_in_machine(), left_in_groups());
  if (bytes <= left) return {};
  return unavailable("backend cpu: needs " + format_bytes(bytes) + " more memory for " + what +
                     ", this machine has " + format_bytes(left) + " left");
}

}  // namespace neuroshard
