#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/planner/plan_for_file.h"
#include "engine/planner/planner.h"

namespace neuroshard {

/// A plan that no other found has fewer devices, less memory and a lower cost than.
struct FrontierPoint {
  std::int64_t memory_bytes = 0;  ///< of the fullest device: what devices need to have
  PlanResult result;
};

/// What is asked of the frontier beside how to search.
struct FrontierOptions {
  std::vector<std::int32_t> devices;  ///< numbers of them, each once
  /// How to search; the time limit is for all together (0: kFrontierSeconds, but where
  /// `evaluations` limits them), evaluations are for each setting, of which there are
  /// kFrontierSettings a number of devices at most.
  PlanOptions search;
  /// Before each setting: which of how many, for whoever shows progress. Empty: nobody.
  std::function<void(std::size_t setting, std::size_t of)> next;
  /// What the plans are for: points are as it holds them, and it has a place for each. Null: any.
  const PlanFile* file = nullptr;
};

inline constexpr double kFrontierSeconds = 10;
inline constexpr std::size_t kFrontierSettings = 8;

struct Frontier {
  /// By devices, then memory. Among them, more devices and more memory always cost less.
  std::vector<FrontierPoint> points;
  bool stopped_early = false;         ///< time ended a search: another run may find other plans
  bool interrupted = false;           ///< by the caller: the points are those found so far
  std::vector<std::string> refusals;  ///< why there is no plan at all on some numbers of devices
};

/// Plans from the least memory to as much as is of use, on each number of devices: at most
/// `like.memory_bytes` a device, and with `like`'s buffers, all tables on the devices. Every number
/// of devices is searched without a limit of memory first, then with less and less; walks offer all
/// plans that they come by. Errors: as make_plan(); kInfeasible with the refusal of the most
/// devices where there is no plan on any; kCancelled. Thread-safe.
Result<Frontier> find_frontier(const Workload& workload, const Cluster& like,
                               const CostModels& models, const FrontierOptions& options);

/// The questions that a frontier answers.
enum class LeastOf { kTime, kMemory, kDevices };

/// What the answer has to keep to; nothing: any.
struct FrontierLimits {
  std::optional<double> cost_ms;
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int32_t> devices;
};

/// The point with the least of that within the limits; of several, the cheapest, then that with the
/// fewest devices. Null where none is within them.
const FrontierPoint* least(std::span<const FrontierPoint> points, LeastOf what,
                           const FrontierLimits& limits);

}  // namespace neuroshard
