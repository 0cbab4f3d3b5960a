#include "engine/iteration/streams.h"

#include <array>
#include <utility>

namespace neuroshard {
namespace {

constexpr std::array<std::string_view, kStreams> kStreamWords{"compute", "communication", "copies"};
constexpr std::array<std::string_view, kStepPhases> kPhaseWords{
    "input_copy",       "input_exchange",    "lookup_forward",
    "exchange_forward", "bottom_forward",    "interaction_forward",
    "top_forward",      "top_backward",      "interaction_backward",
    "bottom_backward",  "exchange_backward", "lookup_backward",
    "all_reduce",       "optimizer"};

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

/// Where the streams of one device are.
struct DeviceClock {
  std::array<double, kStreams> free_ms{};
  std::array<std::int32_t, kStreams> last_task{-1, -1, -1};
  std::array<bool, kStreams> last_before{};
  double processor_ms = 0;
};

class Machine {
 public:
  explicit Machine(const StepGraph& graph)
      : graph_(graph),
        devices_(static_cast<std::size_t>(graph.devices)),
        clocks_(devices_),
        ready_(devices_) {}

  void step(const StepRuns& before, StepRuns& runs) {
    runs.assign(graph_.tasks.size() * devices_, {});
    for (DeviceClock& clock : clocks_) clock.last_before = {true, true, true};
    for (std::size_t task = 0; task < graph_.tasks.size(); ++task) {
      for (std::size_t d = 0; d < devices_; ++d) ready_[d] = ready(task, d, before, runs);
      if (graph_.tasks[task].together) meet();
      for (std::size_t d = 0; d < devices_; ++d) run(task, d, runs[task * devices_ + d]);
    }
  }

 private:
  [[nodiscard]] Ready ready(std::size_t task, std::size_t device, const StepRuns& before,
                            const StepRuns& runs) {
    const StepTask& own = graph_.tasks[task];
    DeviceClock& clock = clocks_[device];
    clock.processor_ms += own.issue_ms;
    const auto where = static_cast<std::int32_t>(device);
    const auto stream = static_cast<std::size_t>(own.stream);
    Ready ready;
    ready.after(clock.processor_ms, -1, -1, false);
    ready.after(clock.free_ms[stream], clock.last_task[stream], where, clock.last_before[stream]);
    for (const std::int32_t other : own.after) {
      ready.after(runs[static_cast<std::size_t>(other) * devices_ + device].end_ms, other, where,
                  false);
    }
    if (before.empty()) return ready;
    for (const std::int32_t other : own.after_before) {
      ready.after(before[static_cast<std::size_t>(other) * devices_ + device].end_ms, other, where,
                  true);
    }
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

  void run(std::size_t task, std::size_t device, TaskRun& run) {
    const Ready& ready = ready_[device];
    const auto stream = static_cast<std::size_t>(graph_.tasks[task].stream);
    run = {ready.ms, ready.ms + graph_.ms(task, device), ready.task, ready.device, ready.before};
    DeviceClock& clock = clocks_[device];
    clock.free_ms[stream] = run.end_ms;
    clock.last_task[stream] = static_cast<std::int32_t>(task);
    clock.last_before[stream] = false;
  }

  const StepGraph& graph_;
  std::size_t devices_;
  std::vector<DeviceClock> clocks_;
  std::vector<Ready> ready_;
};

}  // namespace

std::string_view to_string(Stream stream) { return kStreamWords[static_cast<std::size_t>(stream)]; }

std::string_view to_string(StepPhase phase) { return kPhaseWords[static_cast<std::size_t>(phase)]; }

LastSteps run_steps(const StepGraph& graph, int steps) {
  Machine machine(graph);
  LastSteps runs;
  for (int step = 0; step < steps; ++step) {
    std::swap(runs.before, runs.last);
    machine.step(runs.before, runs.last);
  }
  machine.step(runs.last, runs.next);
  return runs;
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
