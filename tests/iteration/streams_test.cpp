#include "engine/iteration/streams.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <vector>

namespace neuroshard {
namespace {

/// All of the steps, by a clock: at every moment what can start does. Slow and plain.
class EventClock {
 public:
  EventClock(const StepGraph& graph, std::size_t steps)
      : graph_(graph),
        devices_(static_cast<std::size_t>(graph.devices)),
        tasks_(graph.tasks.size()),
        starts_(steps * tasks_ * devices_, -1),
        ends_(starts_) {}

  std::vector<double> run() {
    std::size_t left = starts_.size();
    double now = 0;
    while (left > 0) {
      bool any = true;
      while (any) {
        any = false;
        for (std::size_t i = 0; i < starts_.size(); ++i) {
          if (starts_[i] >= 0 || !can_start(i, now)) continue;
          starts_[i] = now;
          ends_[i] = now + graph_.ms(i / devices_ % tasks_, i % devices_);
          --left;
          any = true;
        }
      }
      double next = 1e300;
      for (std::size_t i = 0; i < ends_.size(); ++i) {
        if (ends_[i] > now) next = std::min(next, ends_[i]);
        if (starts_[i] < 0 && issued(i) > now) next = std::min(next, issued(i));
      }
      if (left > 0) now = next;
    }
    return ends_;
  }

 private:
  [[nodiscard]] std::size_t at(std::size_t step, std::size_t task, std::size_t device) const {
    return (step * tasks_ + task) * devices_ + device;
  }
  [[nodiscard]] bool done(std::size_t index, double now) const {
    return starts_[index] >= 0 && ends_[index] <= now;
  }
  /// When the processor has issued it.
  [[nodiscard]] double issued(std::size_t index) const {
    double ms = 0;
    for (std::size_t k = 0; k <= index / devices_; ++k) ms += graph_.tasks[k % tasks_].issue_ms;
    return ms;
  }
  [[nodiscard]] bool ready(std::size_t step, std::size_t task, std::size_t device,
                           double now) const {
    const StepTask& own = graph_.tasks[task];
    if (issued(at(step, task, device)) > now) return false;
    for (std::size_t k = 0; k < step * tasks_ + task; ++k) {
      if (graph_.tasks[k % tasks_].stream != own.stream) continue;
      if (!done(k * devices_ + device, now)) return false;
    }
    for (const std::int32_t other : own.after) {
      if (!done(at(step, static_cast<std::size_t>(other), device), now)) return false;
    }
    if (step == 0) return true;
    return std::all_of(own.after_before.begin(), own.after_before.end(), [&](std::int32_t other) {
      return done(at(step - 1, static_cast<std::size_t>(other), device), now);
    });
  }
  [[nodiscard]] bool can_start(std::size_t index, double now) const {
    const std::size_t task = index / devices_ % tasks_;
    const std::size_t step = index / devices_ / tasks_;
    if (!graph_.tasks[task].together) return ready(step, task, index % devices_, now);
    for (std::size_t device = 0; device < devices_; ++device) {
      if (!ready(step, task, device, now)) return false;
    }
    return true;
  }

  const StepGraph& graph_;
  std::size_t devices_;
  std::size_t tasks_;
  std::vector<double> starts_;
  std::vector<double> ends_;
};

StepTask task_of(Stream stream, double ms) {
  StepTask task{"t", StepPhase::kTopForward, stream};
  task.ms = {ms};
  return task;
}

StepGraph random_graph(std::mt19937& random) {
  const auto draw = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(most));
  };
  StepGraph graph;
  graph.devices = 1 + draw(4);
  const int tasks = 1 + draw(10);
  for (int i = 0; i < tasks; ++i) {
    StepTask task = task_of(static_cast<Stream>(draw(3)), 0);
    task.together = draw(3) == 0;
    task.issue_ms = draw(3) == 0 ? draw(4) * 0.25 : 0;
    task.ms.clear();
    const int each = task.together || draw(2) == 0 ? 1 : graph.devices;
    for (int d = 0; d < each; ++d) task.ms.push_back(draw(16) * 0.125);  // sums are exact
    for (int k = 0; k < i; ++k) {
      if (draw(4) == 0) task.after.push_back(k);
    }
    for (int k = 0; k < tasks; ++k) {
      if (draw(6) == 0) task.after_before.push_back(k);
    }
    graph.tasks.push_back(std::move(task));
  }
  return graph;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(streams)

BOOST_AUTO_TEST_CASE(steps_end_as_a_clock_has_them_end) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const StepGraph graph = random_graph(random);
    const LastSteps runs = run_steps(graph, 3);
    const std::vector<double> ends = EventClock(graph, 3).run();
    const std::size_t each = runs.last.size();
    BOOST_TEST_CONTEXT("round " << round) {
      for (std::size_t i = 0; i < each; ++i) {
        BOOST_TEST_REQUIRE(runs.before[i].end_ms == ends[each + i]);
        BOOST_TEST_REQUIRE(runs.last[i].end_ms == ends[2 * each + i]);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_task_starts_when_what_it_waited_for_last_ends) {
  std::mt19937 random(8);
  for (int round = 0; round < 100; ++round) {
    const StepGraph graph = random_graph(random);
    const auto devices = static_cast<std::size_t>(graph.devices);
    const LastSteps runs = run_steps(graph, 3);
    for (const TaskRun& run : runs.last) {
      if (run.cause < 0) continue;
      const StepRuns& of = run.cause_before ? runs.before : runs.last;
      const TaskRun& cause = of[static_cast<std::size_t>(run.cause) * devices +
                                static_cast<std::size_t>(run.cause_device)];
      BOOST_TEST_REQUIRE(cause.end_ms == run.start_ms);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_collective_waits_for_the_last_device) {
  StepGraph graph{2, {task_of(Stream::kCompute, 0), task_of(Stream::kCommunication, 1)}};
  graph.tasks[0].ms = {1, 5};
  graph.tasks[1].after = {0};
  graph.tasks[1].together = true;
  const StepRuns runs = run_steps(graph, 2).before;
  BOOST_TEST(runs[2].start_ms == 5);
  BOOST_TEST(runs[2].end_ms == 6);
  BOOST_TEST(runs[2].cause_device == 1);
  BOOST_TEST(end_of(graph, runs).ms == 5);  // of compute
  BOOST_TEST(end_of(graph, runs).device == 1);
}

BOOST_AUTO_TEST_CASE(the_processor_can_be_what_a_step_waits_for) {
  StepGraph graph{1, {task_of(Stream::kCompute, 1), task_of(Stream::kCompute, 1)}};
  for (StepTask& task : graph.tasks) task.issue_ms = 3;
  const LastSteps runs = run_steps(graph, 4);
  BOOST_TEST(end_of(graph, runs.last).ms - end_of(graph, runs.before).ms == 6);
}

BOOST_AUTO_TEST_CASE(steady_steps_begin_with_the_cycle) {
  // Two tasks of one stream, of which a copy of the next step waits for the first.
  StepGraph graph{1, {task_of(Stream::kCopy, 1), task_of(Stream::kCompute, 2)}};
  graph.tasks.push_back(task_of(Stream::kCompute, 3));
  graph.tasks[0].after_before = {1};
  const StepCycle cycle{.step_ms = 5, .ends = {{.task = 2, .device = 0, .ms = 7}}};
  const LastSteps steps = steady_steps(graph, cycle);
  for (std::size_t task = 0; task < 3; ++task) {
    BOOST_TEST(steps.last[task].end_ms - steps.before[task].end_ms == 5);
  }
  BOOST_TEST(steps.last[0].start_ms == steps.before[1].end_ms);
  // A copy that waits for nothing runs ahead further with every step.
  graph.tasks[0].after_before.clear();
  const LastSteps many = steady_steps(graph, cycle);
  BOOST_TEST(many.before[0].end_ms == 63);
  BOOST_TEST(many.last[2].end_ms == 64 * 5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
