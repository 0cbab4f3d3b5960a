#include "engine/iteration/step_simulator.h"

#include <algorithm>
#include <array>

#include "engine/iteration/iteration_cost.h"

namespace neuroshard {
namespace {

constexpr auto kSteps = static_cast<std::size_t>(kStepsUntilFull);

}  // namespace

StepSimulator::StepSimulator(const StepGraph& graph)
    : devices_(static_cast<std::size_t>(graph.devices)),
      tasks_(graph.tasks.size()),
      last_compute_(tasks_),
      runs_(kSteps * tasks_),
      ms_(tasks_ * devices_),
      ends_(std::make_unique_for_overwrite<double[]>(runs_.size() * devices_)) {
  for (std::size_t i = 0; i < ms_.size(); ++i) ms_[i] = graph.ms(i / devices_, i % devices_);
  const auto meetings = kSteps * static_cast<std::size_t>(std::count_if(
                                     graph.tasks.begin(), graph.tasks.end(),
                                     [](const StepTask& task) { return task.together; }));
  ready_ = std::make_unique_for_overwrite<double[]>(meetings * devices_);
  std::array<std::size_t, kStreams> last{};  // run of each stream + 1
  double issued_ms = 0;
  double* ready = ready_.get();
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    const StepTask& own = graph.tasks[run % tasks_];
    const std::size_t step_begin = run - run % tasks_;
    issued_ms += own.issue_ms;
    if (own.stream == Stream::kCompute) last_compute_ = run % tasks_;
    std::size_t& before = last[static_cast<std::size_t>(own.stream)];
    if (before > 0) after_.push_back(before - 1);
    before = run + 1;
    for (const std::int32_t task : own.after) {
      after_.push_back(step_begin + static_cast<std::size_t>(task));
    }
    if (step_begin > 0) {
      for (const std::int32_t task : own.after_before) {
        after_.push_back(step_begin - tasks_ + static_cast<std::size_t>(task));
      }
    }
    runs_[run] = {.issued_ms = issued_ms,
                  .after_end = after_.size(),
                  .ready = own.together ? ready : nullptr};
    if (own.together) ready += devices_;
  }
}

std::span<const std::size_t> StepSimulator::after(std::size_t run) const {
  const std::size_t begin = run == 0 ? 0 : runs_[run - 1].after_end;
  return std::span(after_).subspan(begin, runs_[run].after_end - begin);
}

void StepSimulator::set_ms(std::size_t task, std::size_t device, double ms) {
  double& own = ms_[task * devices_ + device];
  if (own == ms) return;
  own = ms;
  if (std::find(changed_.begin(), changed_.end(), device) == changed_.end()) {
    changed_.push_back(device);
  }
}

void StepSimulator::set_ms(std::size_t task, double ms) {
  std::fill_n(&ms_[task * devices_], devices_, ms);
  all_changed_ = true;
}

double StepSimulator::iteration_ms() {
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    if (!all_changed_) {
      if (changed_.empty()) break;
      all_changed_ = run_on_changed(run);
    }
    if (all_changed_) run_on_all(run);
  }
  all_changed_ = false;
  changed_.clear();
  return step_end(kSteps - 1) - step_end(kSteps - 2);
}

void StepSimulator::run_on_all(std::size_t run) {
  Run& own = runs_[run];
  double* const end = ends(run);
  double* const ready = own.ready != nullptr ? own.ready : end;
  std::fill_n(ready, devices_, own.issued_ms);
  for (const std::size_t other : after(run)) {
    const double* const before = ends(other);
    for (std::size_t d = 0; d < devices_; ++d) ready[d] = std::max(ready[d], before[d]);
  }
  const double* const ms = &ms_[run % tasks_ * devices_];
  if (own.ready != nullptr) {
    own.meeting_ms = *std::max_element(ready, ready + devices_);
    for (std::size_t d = 0; d < devices_; ++d) end[d] = own.meeting_ms + ms[d];
  } else {
    for (std::size_t d = 0; d < devices_; ++d) end[d] += ms[d];
  }
}

bool StepSimulator::run_on_changed(std::size_t run) {
  Run& own = runs_[run];
  double* const end = ends(run);
  const bool together = own.ready != nullptr;
  double* const ready = together ? own.ready : end;
  const double* const ms = &ms_[run % tasks_ * devices_];
  const std::span<const std::size_t> waited_for = after(run);
  bool moved = false;
  for (const std::size_t d : changed_) {
    double at = own.issued_ms;
    for (const std::size_t other : waited_for) at = std::max(at, ends(other)[d]);
    if (together) {
      moved = moved || at > own.meeting_ms || (ready[d] == own.meeting_ms && at < own.meeting_ms);
    }
    ready[d] = at;
    end[d] = (together ? own.meeting_ms : at) + ms[d];
  }
  return moved && *std::max_element(ready, ready + devices_) != own.meeting_ms;
}

double StepSimulator::step_end(std::size_t step) const {
  if (last_compute_ == tasks_) return 0;
  const double* const last = &ends_[(step * tasks_ + last_compute_) * devices_];
  return *std::max_element(last, last + devices_);
}

}  // namespace neuroshard
