#include "apps/commands/frontier_limits.h"

#include <charconv>
#include <cmath>
#include <string_view>

#include "apps/console/words.h"
#include "engine/core/bytes.h"
#include "engine/core/cluster.h"

namespace neuroshard::apps {
namespace {

constexpr std::string_view kMs = "ms";

/// All of `text` as a number.
template <typename Number>
bool read(std::string_view text, Number& number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && stop == text.data() + text.size();
}

/// False where it is none, or one of its kind is there.
bool take(std::string_view word, FrontierLimits& limits) {
  double ms = 0;
  if (word.ends_with(kMs) && read(word.substr(0, word.size() - kMs.size()), ms)) {
    if (!std::isfinite(ms) || ms <= 0 || limits.cost_ms) return false;
    limits.cost_ms = ms;
    return true;
  }
  std::int32_t devices = 0;
  if (read(word, devices)) {
    if (devices < 1 || devices > kMaxDevices || limits.devices) return false;
    limits.devices = devices;
    return true;
  }
  const Result<std::int64_t> bytes = parse_bytes(word);
  const bool has_unit = word.ends_with('B');  // numbers without one are devices
  if (!has_unit || !bytes.ok() || *bytes < 1 || limits.memory_bytes) return false;
  limits.memory_bytes = *bytes;
  return true;
}

}  // namespace

Result<FrontierLimits> parse_frontier_limits(const std::string& text) {
  FrontierLimits limits;
  for (const std::string& word : split(text, ',')) {
    if (take(word, limits)) continue;
    return invalid_input("--within: found '" + text +
                         "', expected a time such as 2.5ms, a memory per device such as 40GB, a "
                         "number of devices, or several of these separated by commas, each once");
  }
  return limits;
}

LeastOf least_of(const std::string& word) {
  if (word == "memory") return LeastOf::kMemory;
  return word == "devices" ? LeastOf::kDevices : LeastOf::kTime;
}

}  // namespace neuroshard::apps
