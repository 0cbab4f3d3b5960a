// What steps come to after very many, held against running very many.
#include "engine/iteration/step_cycle.h"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "engine/iteration/step_simulator.h"
#include "engine/iteration/streams.h"
#include "tests/iteration/random_steps.h"

namespace neuroshard {
namespace {

using test::RandomSteps;

namespace tools = boost::test_tools;

double end_of_steps(const StepGraph& graph, int steps) {
  return end_of(graph, run_steps(graph, steps).last).ms;
}

/// In the mean of so many, after as many.
double step_of_many(const StepGraph& graph, int steps) {
  return (end_of_steps(graph, 2 * steps) - end_of_steps(graph, steps)) / steps;
}

/// The most that one stream of one device has to do in a step.
double busiest_stream_ms(const StepGraph& graph) {
  double most = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(graph.devices); ++d) {
    std::array<double, kStreams> ms{};
    for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
      ms[static_cast<std::size_t>(graph.tasks[task].stream)] += graph.ms(task, d);
    }
    most = std::max(most, *std::max_element(ms.begin(), ms.end()));
  }
  return most;
}

/// A copy that the lookup two steps later waits for, and compute.
StepGraph copies_beside_compute(double copy_ms, double compute_ms) {
  StepGraph graph{1, {}};
  const auto add = [&](Stream stream, double ms, std::vector<std::int32_t> after_before) {
    StepTask task{"t", StepPhase::kTopForward, stream};
    task.after_before = std::move(after_before);
    task.ms = {ms};
    graph.tasks.push_back(std::move(task));
  };
  add(Stream::kCopy, copy_ms, {2});
  add(Stream::kCommunication, 0, {0});
  add(Stream::kCompute, compute_ms / 2, {1});
  add(Stream::kCompute, compute_ms / 2, {});
  return graph;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(step_cycle)

BOOST_AUTO_TEST_CASE(a_step_is_that_of_very_many) {
  RandomSteps random(5);
  for (int round = 0; round < 200; ++round) {
    const StepGraph graph = random.next();
    const double ms = StepSimulator(graph).iteration_ms();
    BOOST_TEST_CONTEXT("round " << round) {
      BOOST_TEST_REQUIRE(ms == step_of_many(graph, 200), tools::tolerance(1e-3));
      BOOST_TEST_REQUIRE(ms >= (1 - 1e-12) * busiest_stream_ms(graph));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_head_start_does_not_make_steps_shorter) {
  // Steps from empty streams are as long as compute until copies, which are hardly slower, have
  // used up what they were ahead.
  const StepGraph graph = copies_beside_compute(1.001, 1);
  BOOST_TEST(end_of_steps(graph, 10) - end_of_steps(graph, 9) == 1, tools::tolerance(1e-12));
  BOOST_TEST(StepSimulator(graph).iteration_ms() == 1.001, tools::tolerance(1e-12));
  BOOST_TEST(step_of_many(graph, 2000) == 1.001, tools::tolerance(1e-12));
  const StepGraph other = copies_beside_compute(0.999, 1);
  BOOST_TEST(StepSimulator(other).iteration_ms() == 1, tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_step_has_the_digits_of_the_fifth_where_that_is_as_long) {
  RandomSteps random(6);
  int same = 0;
  for (int round = 0; round < 200; ++round) {
    const StepGraph graph = random.next();
    const double ms = StepSimulator(graph).iteration_ms();
    const LastSteps five = run_steps(graph, 5);
    const double fifth = end_of(graph, five.last).ms - end_of(graph, five.before).ms;
    if (std::abs(fifth / ms - 1) > 1e-13) continue;
    BOOST_TEST_REQUIRE(ms == fifth);
    ++same;
  }
  BOOST_TEST(same > 150);
}

BOOST_AUTO_TEST_CASE(steady_steps_are_alike) {
  RandomSteps random(7);
  for (int round = 0; round < 200; ++round) {
    const StepGraph graph = random.next();
    StepSimulator simulator(graph);
    (void)simulator.iteration_ms();
    const StepCycle& cycle = simulator.cycle();
    BOOST_TEST_REQUIRE(cycle.processor == cycle.ends.empty());
    const LastSteps steps = steady_steps(graph, cycle);
    for (std::size_t i = 0; i < steps.last.size(); ++i) {
      BOOST_TEST_REQUIRE(steps.last[i].end_ms - steps.before[i].end_ms == cycle.step_ms,
                         tools::tolerance(1e-9));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
