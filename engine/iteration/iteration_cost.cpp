#include "engine/iteration/iteration_cost.h"

#include <algorithm>
#include <cstddef>

namespace neuroshard {
namespace {

struct Busy {
  double start_ms = 0;
  double end_ms = 0;
  std::size_t phase = 0;
  Stream stream{};
};

/// What the device does between the two moments, clipped to them. Inputs of later batches are
/// issued with the next step: that is the last of which anything begins there, as a copy waits for
/// the lookup of the step before.
std::vector<Busy> busy_in(const StepGraph& graph, const LastSteps& steps, std::int32_t device,
                          double from_ms, double to_ms) {
  std::vector<Busy> busy;
  const auto devices = static_cast<std::size_t>(graph.devices);
  for (const StepRuns* runs : {&steps.before, &steps.last, &steps.next}) {
    for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
      const TaskRun& run = (*runs)[task * devices + static_cast<std::size_t>(device)];
      const double start = std::max(from_ms, run.start_ms);
      const double end = std::min(to_ms, run.end_ms);
      if (end <= start) continue;
      const StepTask& own = graph.tasks[task];
      busy.push_back({start, end, static_cast<std::size_t>(own.phase), own.stream});
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

double largest_sum(const StepGraph& graph) {
  double largest = 0;
  for (std::size_t device = 0; device < static_cast<std::size_t>(graph.devices); ++device) {
    double sum = 0;
    for (std::size_t task = 0; task < graph.tasks.size(); ++task) sum += graph.ms(task, device);
    largest = std::max(largest, sum);
  }
  return largest;
}

TimelineEntry entry(const StepGraph& graph, const StepRuns& runs, std::int32_t task,
                    std::int32_t device, double from_ms) {
  const StepTask& own = graph.tasks[static_cast<std::size_t>(task)];
  const auto devices = static_cast<std::size_t>(graph.devices);
  const TaskRun& run =
      runs[static_cast<std::size_t>(task) * devices + static_cast<std::size_t>(device)];
  return {own.name, own.phase, own.stream, device, run.start_ms - from_ms, run.end_ms - from_ms};
}

/// From the end of the step back to its beginning, from cause to cause.
std::vector<TimelineEntry> critical_path(const StepGraph& graph, const LastSteps& steps,
                                         StepEnd end, double from_ms) {
  std::vector<TimelineEntry> path;
  const auto devices = static_cast<std::size_t>(graph.devices);
  const StepRuns* runs = &steps.last;
  std::int32_t task = end.task;
  std::int32_t device = end.device;
  while (task >= 0) {
    const TaskRun& run =
        (*runs)[static_cast<std::size_t>(task) * devices + static_cast<std::size_t>(device)];
    if (run.end_ms <= from_ms) break;
    path.push_back(entry(graph, *runs, task, device, from_ms));
    if (run.cause_before) {
      if (runs == &steps.before) break;  // as long ago as is known
      runs = &steps.before;
    }
    task = run.cause;
    device = run.cause_device;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace

IterationCost iteration_cost(const StepGraph& graph) {
  const LastSteps steps = run_steps(graph, kStepsUntilFull);
  const StepEnd begin = end_of(graph, steps.before);
  const StepEnd end = end_of(graph, steps.last);
  IterationCost cost;
  cost.iteration_ms = end.ms - begin.ms;
  cost.sum_ms = largest_sum(graph);
  cost.slowest_device = end.device;
  share_out(busy_in(graph, steps, end.device, begin.ms, end.ms), begin.ms, end.ms, cost);
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    for (std::int32_t device = 0; device < graph.devices; ++device) {
      cost.timeline.push_back(
          entry(graph, steps.last, static_cast<std::int32_t>(task), device, begin.ms));
    }
  }
  cost.critical_path = critical_path(graph, steps, end, begin.ms);
  return cost;
}

}  // namespace neuroshard
