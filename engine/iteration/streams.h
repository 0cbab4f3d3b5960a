#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace neuroshard {

/// What of a device works on its own: each runs its tasks one after the other, in the order in
/// which they are issued.
enum class Stream {
  kCompute,
  kCommunication,
  kCopy,
  kProcessor,  ///< which launches for all of them: of critical paths alone, no task is on it
};
inline constexpr std::size_t kStreams = 3;  ///< that tasks are on
std::string_view to_string(Stream stream);

/// Parts of a step that are told apart.
enum class StepPhase {
  kInputCopy,
  kInputExchange,
  kLookupForward,
  kExchangeForward,
  kBottomForward,
  kInteractionForward,
  kTopForward,
  kTopBackward,
  kInteractionBackward,
  kBottomBackward,
  kExchangeBackward,
  kLookupBackward,
  kAllReduce,
  kOptimizer,
  kLaunches,  ///< of critical paths alone, no task is of it
};
inline constexpr std::size_t kStepPhases = 14;  ///< of tasks
/// "input_copy", "lookup_forward", ..
std::string_view to_string(StepPhase phase);

/// What every device does once a step.
struct StepTask {
  std::string name;
  StepPhase phase{};
  Stream stream{};
  std::vector<std::int32_t> after{};         ///< earlier tasks of the step that it needs
  std::vector<std::int32_t> after_before{};  ///< any tasks of the step before
  bool together = false;     ///< starts on all devices when the last one is ready, and ends at once
  double issue_ms = 0;       ///< of the processor, which issues the tasks in order
  std::vector<double> ms{};  ///< one for all devices, or one of each
};

/// The tasks of a step in the order in which they are issued, the same on every device.
struct StepGraph {
  std::int32_t devices = 0;
  std::vector<StepTask> tasks;

  [[nodiscard]] double ms(std::size_t task, std::size_t device) const {
    const std::vector<double>& all = tasks[task].ms;
    return all.size() == 1 ? all.front() : all[device];
  }
};

/// When a task ran on a device, and what it waited for last.
struct TaskRun {
  double start_ms = 0;
  double end_ms = 0;
  std::int32_t cause = -1;  ///< the task that ended last before it; -1: none, or the processor
  std::int32_t cause_device = -1;  ///< where
  bool cause_before = false;       ///< of the step before
};

/// All of a step: [task * devices + device].
using StepRuns = std::vector<TaskRun>;

struct LastSteps {
  StepRuns before;
  StepRuns last;
};

/// Runs so many steps one after the other on devices whose streams are empty, and keeps the last
/// two. A task starts when its stream, all tasks that it needs and the processor are ready. Costs
/// grow with tasks x devices. REQUIRES 2 steps at least and a graph whose tasks need earlier ones
/// only.
LastSteps run_steps(const StepGraph& graph, int steps);

/// When a task of a step ended on a device.
struct TaskEnd {
  std::int32_t task = 0;
  std::int32_t device = 0;
  double ms = 0;
};

/// Tasks that wait for each other in a ring over one step or several, or the processor, which
/// launches step after step. Once batches follow one another, a step is as long as the longest of
/// them is per step.
struct StepCycle {
  double step_ms = 0;
  bool processor = false;  ///< whether it is the processor's launches
  /// With which it goes over into the next step, each as if it were of the same one.
  std::vector<TaskEnd> ends{};
};

/// Two steps as all are after very many, when everything waits for the longest cycle: each task
/// runs one cycle's length after it did in the step before, to rounding. Costs are those of a few
/// steps. Where some tasks never wait for the cycle, as none of make_step_graph() do, no two steps
/// are alike: then they are the 63rd and the 64th from empty streams on.
LastSteps steady_steps(const StepGraph& graph, const StepCycle& longest);

/// When the last compute of a step is over on any device, and on which first.
struct StepEnd {
  double ms = 0;
  std::int32_t task = 0;
  std::int32_t device = 0;
};
StepEnd end_of(const StepGraph& graph, const StepRuns& runs);

}  // namespace neuroshard
