#include "engine/iteration/step_simulator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/iteration/step_cycle.h"

namespace neuroshard {
namespace {

/// A batch is copied two steps before it is computed. One more, as a step is what lies between the
/// ends of two.
constexpr std::size_t kSteps = 5;

/// Those that the next step waits for, by name or as the last of a stream.
std::vector<std::size_t> carried_tasks(const StepGraph& graph) {
  std::vector<bool> carried(graph.tasks.size());
  std::array<std::size_t, kStreams> last{};
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    const StepTask& own = graph.tasks[task];
    for (const std::int32_t other : own.after_before)
      carried[static_cast<std::size_t>(other)] = true;
    last[static_cast<std::size_t>(own.stream)] = task + 1;
  }
  for (const std::size_t task : last) {
    if (task > 0) carried[task - 1] = true;
  }
  std::vector<std::size_t> tasks;
  for (std::size_t task = 0; task < carried.size(); ++task) {
    if (carried[task]) tasks.push_back(task);
  }
  return tasks;
}

}  // namespace

StepSimulator::StepSimulator(const StepGraph& graph) : last_compute_(graph.tasks.size()) {
  SimulatedSteps& s = steps_;
  s.devices = static_cast<std::size_t>(graph.devices);
  s.tasks = graph.tasks.size();
  s.runs.resize(kSteps * s.tasks);
  s.carried = carried_tasks(graph);
  s.ms.resize(s.tasks * s.devices);
  for (std::size_t i = 0; i < s.ms.size(); ++i) s.ms[i] = graph.ms(i / s.devices, i % s.devices);
  s.ends = std::make_unique_for_overwrite<double[]>(s.runs.size() * s.devices);
  const auto meetings = kSteps * static_cast<std::size_t>(std::count_if(
                                     graph.tasks.begin(), graph.tasks.end(),
                                     [](const StepTask& task) { return task.together; }));
  s.ready = std::make_unique_for_overwrite<double[]>(meetings * s.devices);
  std::array<std::size_t, kStreams> last{};  // run of each stream + 1
  double issued_ms = 0;
  double* ready = s.ready.get();
  for (std::size_t run = 0; run < s.runs.size(); ++run) {
    const StepTask& own = graph.tasks[run % s.tasks];
    const std::size_t step_begin = run - run % s.tasks;
    issued_ms += own.issue_ms;
    if (own.stream == Stream::kCompute) last_compute_ = run % s.tasks;
    std::size_t& before = last[static_cast<std::size_t>(own.stream)];
    if (before > 0) s.after.push_back(before - 1);
    before = run + 1;
    for (const std::int32_t task : own.after) {
      s.after.push_back(step_begin + static_cast<std::size_t>(task));
    }
    if (step_begin > 0) {
      for (const std::int32_t task : own.after_before) {
        s.after.push_back(step_begin - s.tasks + static_cast<std::size_t>(task));
      }
    }
    s.runs[run] = {.issued_ms = issued_ms,
                   .after_end = s.after.size(),
                   .ready = own.together ? ready : nullptr};
    if (own.together) ready += s.devices;
  }
}

void StepSimulator::set_ms(std::size_t task, std::size_t device, double ms) {
  double& own = steps_.ms[task * steps_.devices + device];
  if (own == ms) return;
  own = ms;
  if (std::find(changed_.begin(), changed_.end(), device) == changed_.end()) {
    changed_.push_back(device);
  }
}

void StepSimulator::set_ms(std::size_t task, double ms) {
  std::fill_n(&steps_.ms[task * steps_.devices], steps_.devices, ms);
  all_changed_ = true;
}

double StepSimulator::iteration_ms() {
  for (std::size_t run = 0; run < steps_.runs.size(); ++run) {
    if (!all_changed_) {
      if (changed_.empty()) break;
      all_changed_ = run_on_changed(run);
    }
    if (all_changed_) run_on_all(run);
  }
  all_changed_ = false;
  changed_.clear();
  cycle_ = longest_cycle(steps_);
  const double end = step_end(kSteps - 1);
  const double step = end - step_end(kSteps - 2);
  // The steps' own digits where they are as long already, as they mostly are.
  return std::abs(step - cycle_.step_ms) <= kStepRounding * end ? step : cycle_.step_ms;
}

void StepSimulator::run_on_all(std::size_t run) {
  SimulatedSteps::Run& own = steps_.runs[run];
  const std::size_t devices = steps_.devices;
  double* const end = steps_.ends_of(run);
  double* const ready = own.ready != nullptr ? own.ready : end;
  std::fill_n(ready, devices, own.issued_ms);
  for (const std::size_t other : steps_.after_of(run)) {
    const double* const before = steps_.ends_of(other);
    for (std::size_t d = 0; d < devices; ++d) ready[d] = std::max(ready[d], before[d]);
  }
  const double* const ms = &steps_.ms[run % steps_.tasks * devices];
  if (own.ready != nullptr) {
    own.meeting_ms = *std::max_element(ready, ready + devices);
    for (std::size_t d = 0; d < devices; ++d) end[d] = own.meeting_ms + ms[d];
  } else {
    for (std::size_t d = 0; d < devices; ++d) end[d] += ms[d];
  }
}

bool StepSimulator::run_on_changed(std::size_t run) {
  SimulatedSteps::Run& own = steps_.runs[run];
  double* const end = steps_.ends_of(run);
  const bool together = own.ready != nullptr;
  double* const ready = together ? own.ready : end;
  const double* const ms = &steps_.ms[run % steps_.tasks * steps_.devices];
  const std::span<const std::size_t> waited_for = steps_.after_of(run);
  bool moved = false;
  for (const std::size_t d : changed_) {
    double at = own.issued_ms;
    for (const std::size_t other : waited_for) at = std::max(at, steps_.ends_of(other)[d]);
    if (together) {
      moved = moved || at > own.meeting_ms || (ready[d] == own.meeting_ms && at < own.meeting_ms);
    }
    ready[d] = at;
    end[d] = (together ? own.meeting_ms : at) + ms[d];
  }
  return moved && *std::max_element(ready, ready + steps_.devices) != own.meeting_ms;
}

double StepSimulator::step_end(std::size_t step) const {
  if (last_compute_ == steps_.tasks) return 0;
  const double* const last = steps_.ends_of(step * steps_.tasks + last_compute_);
  return *std::max_element(last, last + steps_.devices);
}

}  // namespace neuroshard
