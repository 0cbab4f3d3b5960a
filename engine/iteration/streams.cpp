#include "engine/iteration/streams.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace neuroshard {
namespace {

constexpr std::array<std::string_view, kStreams + 1> kStreamWords{"compute", "communication",
                                                                  "copies", "processor"};
constexpr std::array<std::string_view, kStepPhases + 1> kPhaseWords{
    "input_copy",           "input_exchange",      "lookup_forward",    "exchange_forward",
    "bottom_forward",       "interaction_forward", "top_forward",       "top_backward",
    "interaction_backward", "bottom_backward",     "exchange_backward", "lookup_backward",
    "all_reduce",           "optimizer",           "launches"};

/// In steps that are run from a cycle on: of all that has not waited for it yet.
constexpr double kLongAgo = -std::numeric_limits<double>::infinity();

/// Steps until all tasks have waited for a cycle: above all that graphs of steps need.
constexpr int kMostSteps = 64;

/// Between steps that are alike.
constexpr double kSameShare = 1e-9;

/// The last of what a task waits for.
struct Ready {
  double ms = 0;
  std::int32_t task = -1;
  std::int32_t device = -1;
  bool before = false;

  void after(double end_ms, std::int32_t other, std::int32_t where, bool step_before) {
    if (end_ms <= ms) return;
    *this = {end_ms, other, where, step_before};
  }
};

class Machine {
 public:
  /// The processor is ready then.
  Machine(const StepGraph& graph, double processor_ms)
      : graph_(graph),
        devices_(static_cast<std::size_t>(graph.devices)),
        processor_ms_(processor_ms),
        ready_(devices_) {
    last_.fill(-1);
    for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
      std::int32_t& last = last_[static_cast<std::size_t>(graph.tasks[task].stream)];
      stream_before_.push_back(last);
      last = static_cast<std::int32_t>(task);
    }
  }

  /// Empty where no step was before.
  void step(const StepRuns& before, StepRuns& runs) {
    runs.assign(graph_.tasks.size() * devices_, {});
    for (std::size_t task = 0; task < graph_.tasks.size(); ++task) {
      processor_ms_ += graph_.tasks[task].issue_ms;
      for (std::size_t d = 0; d < devices_; ++d) ready_[d] = ready(task, d, before, runs);
      if (graph_.tasks[task].together) meet();
      for (std::size_t d = 0; d < devices_; ++d) {
        const Ready& now = ready_[d];
        runs[task * devices_ + d] = {now.ms, now.ms + graph_.ms(task, d), now.task, now.device,
                                     now.before};
      }
    }
  }

 private:
  [[nodiscard]] Ready ready(std::size_t task, std::size_t device, const StepRuns& before,
                            const StepRuns& runs) const {
    const StepTask& own = graph_.tasks[task];
    const auto where = static_cast<std::int32_t>(device);
    Ready ready{.ms = processor_ms_};
    const auto wait_for = [&](std::int32_t other, const StepRuns& of, bool step_before) {
      ready.after(of[static_cast<std::size_t>(other) * devices_ + device].end_ms, other, where,
                  step_before);
    };
    if (stream_before_[task] >= 0) {
      wait_for(stream_before_[task], runs, false);
    } else if (!before.empty()) {
      wait_for(last_[static_cast<std::size_t>(own.stream)], before, true);
    }
    for (const std::int32_t other : own.after) wait_for(other, runs, false);
    if (before.empty()) return ready;
    for (const std::int32_t other : own.after_before) wait_for(other, before, true);
    return ready;
  }

  /// All devices wait for the last one.
  void meet() {
    Ready last = ready_.front();
    for (const Ready& one : ready_) {
      if (one.ms > last.ms) last = one;
    }
    for (Ready& one : ready_) {
      if (one.ms < last.ms) one = last;
    }
  }

  const StepGraph& graph_;
  std::size_t devices_;
  double processor_ms_;
  std::array<std::int32_t, kStreams> last_{};  ///< task of each stream; -1: none
  std::vector<std::int32_t> stream_before_;    ///< of each task's stream; -1: none
  std::vector<Ready> ready_;
};

bool are_alike(const LastSteps& steps, double step_ms) {
  return std::equal(steps.before.begin(), steps.before.end(), steps.last.begin(), steps.last.end(),
                    [&](const TaskRun& before, const TaskRun& last) {
                      return std::abs(last.end_ms - before.end_ms - step_ms) <=
                             kSameShare * step_ms;
                    });
}

}  // namespace

std::string_view to_string(Stream stream) { return kStreamWords[static_cast<std::size_t>(stream)]; }

std::string_view to_string(StepPhase phase) { return kPhaseWords[static_cast<std::size_t>(phase)]; }

LastSteps run_steps(const StepGraph& graph, int steps) {
  Machine machine(graph, 0);
  LastSteps runs;
  for (int step = 0; step < steps; ++step) {
    std::swap(runs.before, runs.last);
    machine.step(runs.before, runs.last);
  }
  return runs;
}

LastSteps steady_steps(const StepGraph& graph, const StepCycle& longest) {
  Machine machine(graph, longest.processor ? 0 : kLongAgo);
  const auto devices = static_cast<std::size_t>(graph.devices);
  LastSteps runs;
  runs.last.assign(graph.tasks.size() * devices, {.start_ms = kLongAgo, .end_ms = kLongAgo});
  for (const TaskEnd& end : longest.ends) {
    runs.last[static_cast<std::size_t>(end.task) * devices + static_cast<std::size_t>(end.device)]
        .end_ms = end.ms;
  }
  for (int step = 0; step < kMostSteps; ++step) {
    std::swap(runs.before, runs.last);
    machine.step(runs.before, runs.last);
    if (are_alike(runs, longest.step_ms)) return runs;
  }
  return run_steps(graph, kMostSteps);
}

StepEnd end_of(const StepGraph& graph, const StepRuns& runs) {
  const auto devices = static_cast<std::size_t>(graph.devices);
  StepEnd end;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (graph.tasks[i / devices].stream != Stream::kCompute || runs[i].end_ms <= end.ms) continue;
    end = {runs[i].end_ms, static_cast<std::int32_t>(i / devices),
           static_cast<std::int32_t>(i % devices)};
  }
  return end;
}

}  // namespace neuroshard
