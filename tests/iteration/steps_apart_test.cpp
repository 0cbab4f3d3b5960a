// A step taken apart: all of it is there once, and its path goes from one end to the other.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "engine/iteration/iteration_cost.h"
#include "engine/iteration/step_simulator.h"
#include "engine/iteration/streams.h"
#include "tests/iteration/random_steps.h"

namespace neuroshard {
namespace {

using test::RandomSteps;

namespace tools = boost::test_tools;

/// Of the entry's task on its device; 0: none is named so.
double task_ms(const StepGraph& graph, const TimelineEntry& entry) {
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    if (graph.tasks[task].name != entry.name || graph.tasks[task].phase != entry.phase) continue;
    return graph.ms(task, static_cast<std::size_t>(entry.device));
  }
  return 0;
}

/// What the processor launches in a step.
double launches_ms(const StepGraph& graph) {
  double ms = 0;
  for (const StepTask& task : graph.tasks) ms += task.issue_ms;
  return ms;
}

/// A step of two devices in HugeCTR's order that differ in what they sort and look up again.
StepGraph lookups_here_and_sorts_there() {
  StepGraph graph{2, {}};
  const auto add = [&](Stream stream, std::vector<double> ms) {
    StepTask task{"t", StepPhase::kLookupForward, stream};
    task.together = stream == Stream::kCommunication;
    task.ms = std::move(ms);
    graph.tasks.push_back(std::move(task));
    return static_cast<std::int32_t>(graph.tasks.size()) - 1;
  };
  const auto lookup = add(Stream::kCompute, {1, 0.1});
  graph.tasks.push_back({.name = "exchange", .stream = Stream::kCommunication, .after = {lookup}});
  graph.tasks.back().together = true;
  graph.tasks.back().ms = {0};
  const auto sort = add(Stream::kCompute, {0.1, 1});
  graph.tasks.back().after = {1};
  const auto back = add(Stream::kCommunication, {0});
  graph.tasks.back().after = {sort};
  add(Stream::kCompute, {1, 0.1});
  graph.tasks.back().after = {back};
  return graph;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(steps_apart)

BOOST_AUTO_TEST_CASE(the_path_goes_from_one_end_to_the_next) {
  RandomSteps random(11);
  for (int round = 0; round < 300; ++round) {
    const StepGraph graph = random.next();
    const IterationCost cost = iteration_cost(graph);
    const std::vector<TimelineEntry>& path = cost.critical_path;
    BOOST_TEST_CONTEXT("round " << round) {
      BOOST_TEST_REQUIRE(!path.empty());
      BOOST_TEST_REQUIRE(path.front().start_ms == 0);
      BOOST_TEST_REQUIRE(path.back().end_ms == cost.iteration_ms);
      for (std::size_t i = 1; i < path.size(); ++i) {
        BOOST_TEST_REQUIRE(path[i].start_ms == path[i - 1].end_ms);
      }
      for (std::size_t i = 0; i < path.size(); ++i) {
        if (path[i].phase == StepPhase::kLaunches) continue;
        const double ms = path[i].end_ms - path[i].start_ms;
        const double own = task_ms(graph, path[i]);
        BOOST_TEST_REQUIRE(ms <= own + 1e-9);
        if (i > 0) BOOST_TEST_REQUIRE(ms >= own - 1e-9);  // the first may have begun earlier
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(launches_are_on_the_path_of_steps_that_wait_for_them) {
  RandomSteps random(12);
  int launched = 0;
  for (int round = 0; round < 300; ++round) {
    const StepGraph graph = random.next();
    const IterationCost cost = iteration_cost(graph);
    const bool waits = cost.iteration_ms <= (1 + 1e-9) * launches_ms(graph);
    const auto on_path =
        std::count_if(cost.critical_path.begin(), cost.critical_path.end(),
                      [](const TimelineEntry& one) { return one.name == "launches"; });
    BOOST_TEST_REQUIRE(on_path == (waits ? 1 : 0));
    if (!waits) continue;
    ++launched;
    BOOST_TEST_REQUIRE(cost.critical_path.front().name == "launches");
    BOOST_TEST_REQUIRE((cost.critical_path.front().stream == Stream::kProcessor));
  }
  BOOST_TEST(launched > 10);
}

BOOST_AUTO_TEST_CASE(every_phase_runs_as_long_as_its_tasks) {
  RandomSteps random(13);
  for (int round = 0; round < 300; ++round) {
    const StepGraph graph = random.next();
    const IterationCost cost = iteration_cost(graph);
    std::array<double, kStepPhases> runs{};
    for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
      runs[static_cast<std::size_t>(graph.tasks[task].phase)] +=
          graph.ms(task, static_cast<std::size_t>(cost.slowest_device));
    }
    double sum = cost.waiting_ms;
    for (std::size_t phase = 0; phase < kStepPhases; ++phase) {
      BOOST_TEST_REQUIRE(std::abs(cost.phases[phase].ms - runs[phase]) < 1e-9);
      sum += cost.phases[phase].exposed_ms;
    }
    BOOST_TEST_REQUIRE(sum == cost.iteration_ms, tools::tolerance(1e-9));
    for (const TimelineEntry& one : cost.timeline) {
      BOOST_TEST_REQUIRE(std::abs(one.end_ms - one.start_ms - task_ms(graph, one)) < 1e-9);
    }
  }
}

BOOST_AUTO_TEST_CASE(without_streams_no_step_is_shorter) {
  RandomSteps random(14);
  for (int round = 0; round < 300; ++round) {
    const StepGraph graph = random.next();
    const IterationCost cost = iteration_cost(graph);
    BOOST_TEST_REQUIRE(cost.sum_ms >= cost.iteration_ms);
    BOOST_TEST_REQUIRE(cost.sum_ms >= launches_ms(graph));
    StepGraph alone = graph;  // all on one stream
    for (StepTask& task : alone.tasks) {
      task.stream = Stream::kCompute;
      task.after_before.clear();
    }
    BOOST_TEST_REQUIRE(cost.sum_ms == StepSimulator(alone).iteration_ms(), tools::tolerance(1e-9));
  }
  // Neither device does 2.1 ms of work and more; they wait for each other.
  const IterationCost cost = iteration_cost(lookups_here_and_sorts_there());
  BOOST_TEST(cost.iteration_ms == 3, tools::tolerance(1e-9));
  BOOST_TEST(cost.sum_ms == 3, tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
