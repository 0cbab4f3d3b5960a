#include "search/packing/what_would_do.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/core/bytes.h"
#include "search/packing/plan_packing.h"

namespace neuroshard::search {
namespace {

constexpr std::array kMoreMemory{1.0, 1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0};
constexpr int kHalvings = 7;  // of the last of these steps

bool fits(const Problem& problem, const Cluster& cluster, const SearchSpace& space,
          const RowShapes& rows, const StopCheck& stop) {
  return plan_by_memory_with_rows({problem.workload, cluster, space}, rows, stop).has_value();
}

/// As people are told them: more memory may be harder to pack.
std::int64_t rounded(std::int64_t bytes) {
  const Result<std::int64_t> parsed = parse_bytes(format_bytes_at_least(bytes));
  return parsed.ok() ? *parsed : bytes;
}

/// Enough for packing, not below `least`; about the least such memory.
std::optional<std::int64_t> memory_that_fits(const Problem& problem, const RowShapes& rows,
                                             std::int64_t least, const StopCheck& stop) {
  Cluster cluster = problem.cluster;
  const auto enough = [&](std::int64_t bytes) {
    cluster.memory_bytes = bytes;
    return fits(problem, cluster, problem.space, rows, stop);
  };
  std::int64_t too_little = least;
  for (const double more : kMoreMemory) {
    std::int64_t found = rounded(std::max(least, scaled_bytes(least, more)));
    if (!enough(found)) {
      if (stop.stop()) return std::nullopt;
      too_little = found;
      continue;
    }
    for (int k = 0; k < kHalvings && !stop.stop(); ++k) {
      const std::int64_t middle = rounded(too_little + (found - too_little) / 2);
      if (middle <= too_little || middle >= found) break;
      (enough(middle) ? found : too_little) = middle;
    }
    return found;
  }
  return std::nullopt;
}

/// Enough for packing, not below `least`, which are whole hosts; about the least such number.
std::optional<std::int32_t> devices_that_fit(const Problem& problem, const SearchOptions& options,
                                             std::int32_t least, const StopCheck& stop) {
  const std::int32_t each = whole_host(problem.cluster);
  const std::int32_t most = kMaxDevices / each;
  Cluster cluster = problem.cluster;
  const auto enough = [&](std::int32_t hosts) {
    cluster.devices = hosts * each;
    return fits(problem, cluster, on_more_devices(problem), row_shapes(options, cluster.devices),
                stop);
  };
  std::int32_t found = least / each;
  std::int32_t too_few = found - 1;
  for (std::int32_t step = 1; !enough(found); step *= 2) {
    if (stop.stop() || found == most) return std::nullopt;
    too_few = found;
    found = std::min(found + step, most);
  }
  while (found - too_few > 1 && !stop.stop()) {
    const std::int32_t middle = too_few + (found - too_few) / 2;
    (enough(middle) ? found : too_few) = middle;
  }
  return found * each;
}

}  // namespace

Status what_would_do(const Problem& problem, const RowShapes& rows, const StopCheck& stop,
                     const Status& otherwise) {
  const auto memory = memory_that_fits(problem, rows, problem.cluster.memory_bytes, stop);
  if (memory) return no_arrangement(problem, *memory);
  return stop.cancelled() ? stopped_before_plan() : otherwise;
}

Status what_would_do(const Problem& problem, const SearchOptions& options,
                     const Shortage& shortage) {
  if (!options.advise) return needs_at_least(problem, shortage);
  SearchOptions patient = options;
  patient.time_limit_s = kFirstPlanSeconds / 2;
  const auto memory = memory_that_fits(
      problem, row_shapes(options, problem.cluster.devices),
      std::max(shortage.memory_bytes, problem.cluster.memory_bytes), StopCheck(patient));
  std::optional<std::int32_t> devices;
  if (shortage.devices > 0) {
    devices = devices_that_fit(problem, options, shortage.devices, StopCheck(patient));
  }
  if (!memory && !devices) return needs_at_least(problem, shortage);
  std::string text = shortage.blame + ": ";
  if (devices) text += more_devices(problem.cluster, *devices);
  if (devices && !memory) return infeasible(text + " would do");
  text += devices ? " would do, or " : "";
  text += format_bytes_at_least(*memory) + " of memory per device";
  return infeasible(text + (devices ? "" : " would do"));
}

}  // namespace neuroshard::search
