#include "engine/iteration/iteration_cost.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "engine/iteration/step_simulator.h"

namespace neuroshard {
namespace {

/// As a share of a step: what is shorter comes of rounding.
constexpr double kRoundingOfStep = 1e-9;

/// A step like all others, from the end of the one before on.
struct SteadyStep {
  const StepGraph& graph;
  const StepRuns& runs;
  double begin_ms = 0;
  double ms = 0;

  [[nodiscard]] const TaskRun& run(std::int32_t task, std::int32_t device) const {
    const auto devices = static_cast<std::size_t>(graph.devices);
    return runs[static_cast<std::size_t>(task) * devices + static_cast<std::size_t>(device)];
  }
};

struct Busy {
  double start_ms = 0;
  double end_ms = 0;
  std::size_t phase = 0;
  Stream stream{};
};

/// What the device does in the step, each task once: what of it is before or after the step, a
/// later or an earlier step's task does in its place.
std::vector<Busy> busy_in(const SteadyStep& step, std::int32_t device) {
  std::vector<Busy> busy;
  const double end_of_step = step.begin_ms + step.ms;
  for (std::int32_t task = 0; task < std::ssize(step.graph.tasks); ++task) {
    const StepTask& own = step.graph.tasks[static_cast<std::size_t>(task)];
    const TaskRun& run = step.run(task, device);
    const double later = step.ms * std::floor((run.start_ms - step.begin_ms) / step.ms);
    double start = run.start_ms - later;
    for (double end = run.end_ms - later; end > start; end -= step.ms) {
      busy.push_back(
          {start, std::min(end, end_of_step), static_cast<std::size_t>(own.phase), own.stream});
      start = step.begin_ms;
    }
  }
  return busy;
}

/// Every moment of the window goes to one phase, or to waiting.
void share_out(const std::vector<Busy>& busy, double from_ms, double to_ms, IterationCost& cost) {
  std::vector<double> bounds{from_ms, to_ms};
  for (const Busy& one : busy) {
    bounds.push_back(one.start_ms);
    bounds.push_back(one.end_ms);
    cost.phases[one.phase].ms += one.end_ms - one.start_ms;
  }
  std::sort(bounds.begin(), bounds.end());
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    const double length = bounds[i + 1] - bounds[i];
    if (!(length > 0)) continue;
    const Busy* owner = nullptr;
    for (const Busy& one : busy) {
      if (one.start_ms > bounds[i] || one.end_ms < bounds[i + 1]) continue;
      if (owner == nullptr || one.stream < owner->stream) owner = &one;
    }
    (owner != nullptr ? cost.phases[owner->phase].exposed_ms : cost.waiting_ms) += length;
  }
}

/// Where each device does one thing after the other. They wait for each other where they begin
/// something together, once around from step to step.
double one_after_the_other_ms(const StepGraph& graph) {
  std::vector<double> ms(static_cast<std::size_t>(graph.devices));  // since they met last
  std::vector<double> until_first;
  double met_ms = 0;
  double issued_ms = 0;
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    issued_ms += graph.tasks[task].issue_ms;
    if (graph.tasks[task].together) {
      if (until_first.empty()) {
        until_first = ms;
      } else {
        met_ms += *std::max_element(ms.begin(), ms.end());
      }
      std::fill(ms.begin(), ms.end(), 0);
    }
    for (std::size_t d = 0; d < ms.size(); ++d) ms[d] += graph.ms(task, d);
  }
  for (std::size_t d = 0; d < until_first.size(); ++d) ms[d] += until_first[d];
  return std::max(issued_ms, met_ms + *std::max_element(ms.begin(), ms.end()));
}

TimelineEntry entry(const SteadyStep& step, std::int32_t task, std::int32_t device) {
  const StepTask& own = step.graph.tasks[static_cast<std::size_t>(task)];
  const TaskRun& run = step.run(task, device);
  return {own.name,
          own.phase,
          own.stream,
          device,
          run.start_ms - step.begin_ms,
          run.end_ms - step.begin_ms};
}

/// From the end of the step back to its beginning, from cause to cause: those of steps before began
/// as much earlier.
std::vector<TimelineEntry> critical_path(const SteadyStep& step, StepEnd end, double step_ms) {
  std::vector<TimelineEntry> path;
  std::int32_t task = end.task;
  std::int32_t device = end.device;
  double earlier = 0;
  double until = step_ms;
  while (until > kRoundingOfStep * step_ms) {
    TimelineEntry one{"launches", StepPhase::kLaunches, Stream::kProcessor, device, 0, until};
    if (task >= 0) {
      one = entry(step, task, device);
      const TaskRun& run = step.run(task, device);
      one.start_ms = std::clamp(one.start_ms - earlier, 0.0, until);
      one.end_ms = until;
      if (run.cause_before) earlier += step.ms;
      task = run.cause;
      device = run.cause >= 0 ? run.cause_device : device;
    }
    until = one.start_ms;
    path.push_back(std::move(one));
  }
  std::reverse(path.begin(), path.end());
  if (!path.empty()) path.front().start_ms = 0;
  return path;
}

}  // namespace

IterationCost iteration_cost(const StepGraph& graph) {
  StepSimulator simulator(graph);
  IterationCost cost;
  cost.iteration_ms = simulator.iteration_ms();
  const LastSteps steps = steady_steps(graph, simulator.cycle());
  const double begin_ms = end_of(graph, steps.before).ms;
  const StepEnd end = end_of(graph, steps.last);
  const SteadyStep step{graph, steps.last, begin_ms, end.ms - begin_ms};
  // But for rounding it is not below the step by itself.
  cost.sum_ms = std::max(cost.iteration_ms, one_after_the_other_ms(graph));
  cost.slowest_device = end.device;
  share_out(busy_in(step, end.device), begin_ms, end.ms, cost);
  for (std::int32_t task = 0; task < std::ssize(graph.tasks); ++task) {
    for (std::int32_t device = 0; device < graph.devices; ++device) {
      cost.timeline.push_back(entry(step, task, device));
    }
  }
  cost.critical_path = critical_path(step, end, cost.iteration_ms);
  return cost;
}

}  // namespace neuroshard
