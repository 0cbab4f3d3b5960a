#include "engine/iteration/step_graph.h"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "engine/iteration/chrome_trace.h"
#include "engine/iteration/iteration_cost.h"
#include "io/json/json.h"
#include "tests/iteration/dense_models.h"

namespace neuroshard {
namespace {

using test::dcnv2;
using test::some_rates;
using test::tables_of;

namespace tools = boost::test_tools;

EmbeddingStep embedding_of(std::vector<double> backward_ms) {
  EmbeddingStep step;
  step.lookup_forward_ms.assign(backward_ms.size(), 0.3);
  step.lookup_backward_ms = std::move(backward_ms);
  step.exchange_forward_ms = step.exchange_backward_ms = 0.2;
  step.input_exchange_ms = step.input_copy_ms = 0.1;
  step.forward_kernels = 1;
  step.backward_kernels = 26;
  return step;
}

double no_time(double) { return 0; }

StepGraph graph_of(const EmbeddingStep& embedding, const DenseModel& model,
                   const std::function<double(double)>& all_reduce_ms = no_time) {
  const DenseStep dense = make_dense_step(model, tables_of(26, 128), 6912, some_rates()).value();
  return make_step_graph(model, dense, embedding,
                         static_cast<std::int32_t>(embedding.lookup_forward_ms.size()),
                         all_reduce_ms);
}

double exposed(const IterationCost& cost, StepPhase phase) {
  return cost.phases[static_cast<std::size_t>(phase)].exposed_ms;
}

std::int64_t tasks_of(const StepGraph& graph, StepPhase phase) {
  return std::count_if(graph.tasks.begin(), graph.tasks.end(),
                       [&](const StepTask& task) { return task.phase == phase; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(step_graph)

BOOST_AUTO_TEST_CASE(every_moment_of_a_step_belongs_to_one_phase) {
  for (const bool graphed : {true, false}) {
    DenseModel model = dcnv2();
    model.cuda_graph = graphed;
    const IterationCost cost = iteration_cost(
        graph_of(embedding_of({1, 0.4, 0.7}), model, [](double bytes) { return bytes * 1e-8; }));
    double sum = cost.waiting_ms;
    for (const PhaseTime& phase : cost.phases) {
      sum += phase.exposed_ms;
      BOOST_TEST(phase.exposed_ms <= phase.ms + 1e-9);
    }
    BOOST_TEST(sum == cost.iteration_ms, tools::tolerance(1e-9));
    BOOST_TEST(cost.iteration_ms < cost.sum_ms);
    BOOST_TEST(cost.slowest_device == 0);
  }
}

BOOST_AUTO_TEST_CASE(the_critical_path_is_the_step) {
  const IterationCost cost = iteration_cost(graph_of(embedding_of({0.4, 1}), dcnv2()));
  const std::vector<TimelineEntry>& path = cost.critical_path;
  BOOST_TEST_REQUIRE(!path.empty());
  BOOST_TEST(path.front().start_ms <= 1e-9);
  BOOST_TEST(path.back().end_ms == cost.iteration_ms, tools::tolerance(1e-9));
  for (std::size_t i = 1; i < path.size(); ++i) {
    BOOST_TEST(path[i].start_ms == path[i - 1].end_ms, tools::tolerance(1e-9));
  }
}

BOOST_AUTO_TEST_CASE(inputs_of_later_batches_are_hidden) {
  const IterationCost cost = iteration_cost(graph_of(embedding_of({1, 1}), dcnv2()));
  BOOST_TEST(exposed(cost, StepPhase::kInputCopy) == 0);
  BOOST_TEST(exposed(cost, StepPhase::kInputExchange) == 0);
  EmbeddingStep slow = embedding_of({1, 1});
  slow.input_copy_ms = 50;  // more than all else: the step is as long
  BOOST_TEST(iteration_cost(graph_of(slow, dcnv2())).iteration_ms >= 50);
}

BOOST_AUTO_TEST_CASE(a_step_has_all_that_it_runs_beside_compute) {
  for (const StepSchedule schedule : {StepSchedule::kTorchRec, StepSchedule::kHugectr}) {
    DenseModel model = dcnv2();
    model.schedule = schedule;
    EmbeddingStep embedding = embedding_of({1, 0.4});
    embedding.replica_forward_ms = embedding.replica_backward_ms = embedding.sort_ms = {0.05, 0.05};
    const StepGraph graph = graph_of(embedding, model, [](double bytes) { return bytes * 1e-8; });
    const IterationCost cost = iteration_cost(graph);
    std::array<double, kStepPhases> runs{};
    for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
      runs[static_cast<std::size_t>(graph.tasks[task].phase)] +=
          graph.ms(task, static_cast<std::size_t>(cost.slowest_device));
    }
    for (std::size_t phase = 0; phase < kStepPhases; ++phase) {
      BOOST_TEST_CONTEXT(to_string(static_cast<StepPhase>(phase))) {
        BOOST_TEST(cost.phases[phase].ms == runs[phase], tools::tolerance(1e-9));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_exchange_is_hidden_as_far_as_the_bottom_network_goes) {
  const StepGraph graph = graph_of(embedding_of({1, 1}), dcnv2());
  double bottom = 0;
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    if (graph.tasks[task].phase == StepPhase::kBottomForward) bottom += graph.ms(task, 0);
  }
  BOOST_TEST_REQUIRE(bottom < 0.2);
  BOOST_TEST(exposed(iteration_cost(graph), StepPhase::kExchangeForward) == 0.2 - bottom,
             tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(gradients_go_in_buckets_from_the_top_down) {
  DenseModel model = dcnv2();  // 32.1 MB of gradients, 10.5 of the top network
  const StepGraph usual = graph_of(embedding_of({1, 1}), model);
  BOOST_TEST(tasks_of(usual, StepPhase::kAllReduce) == 2);
  model.bucket_mb = 1e6;
  BOOST_TEST(tasks_of(graph_of(embedding_of({1, 1}), model), StepPhase::kAllReduce) == 1);
  model.bucket_mb = 1;
  double reduced = 0;
  const StepGraph many = graph_of(embedding_of({1, 1}), model, [&](double bytes) {
    reduced += bytes;
    return 0.01;
  });
  BOOST_TEST(tasks_of(many, StepPhase::kAllReduce) > 5);
  BOOST_TEST(reduced == 2 * 16'044'545.0);
}

BOOST_AUTO_TEST_CASE(hugectr_sends_the_exchange_first_and_adds_all_gradients_up_at_once) {
  DenseModel model = dcnv2();
  model.schedule = StepSchedule::kHugectr;
  EmbeddingStep embedding = embedding_of({0.4, 0.4});
  embedding.replica_forward_ms = embedding.replica_backward_ms = embedding.sort_ms = {0.05, 0.05};
  embedding.replica_gradient_bytes = 1e6;
  double reduced = 0;
  const StepGraph graph = graph_of(embedding, model, [&](double bytes) {
    reduced += bytes;
    return 0.3;
  });
  BOOST_TEST(tasks_of(graph, StepPhase::kAllReduce) == 1);
  BOOST_TEST(reduced == 2 * 16'044'545.0 + 1e6);
  const IterationCost cost = iteration_cost(graph);
  // 0.15 ms of the exchange run beside replicas, the sort and more of the bottom network.
  BOOST_TEST(exposed(cost, StepPhase::kExchangeForward) < 0.1);
  const auto end_of_task = [&](const std::string& name) {
    const auto at = std::find_if(cost.timeline.begin(), cost.timeline.end(),
                                 [&](const TimelineEntry& one) { return one.name == name; });
    BOOST_TEST_REQUIRE((at != cost.timeline.end()));
    return *at;
  };
  const TimelineEntry exchange = end_of_task("exchange of gradients");
  const TimelineEntry reduce = end_of_task("all-reduce, bucket 1");
  const TimelineEntry lookup = end_of_task("lookup backward");
  BOOST_TEST(reduce.start_ms == exchange.end_ms, tools::tolerance(1e-9));
  BOOST_TEST(lookup.start_ms == exchange.end_ms, tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(one_device_adds_nothing_up) {
  const StepGraph graph = graph_of(embedding_of({1}), dcnv2());
  BOOST_TEST(tasks_of(graph, StepPhase::kAllReduce) == 0);
  BOOST_TEST(iteration_cost(graph).iteration_ms > 0);
}

BOOST_AUTO_TEST_CASE(launches_are_hidden_behind_large_kernels_and_not_behind_small_ones) {
  DenseModel model = dcnv2();
  const double graphed = iteration_cost(graph_of(embedding_of({1, 1}), model)).iteration_ms;
  model.cuda_graph = false;
  const double launched = iteration_cost(graph_of(embedding_of({1, 1}), model)).iteration_ms;
  BOOST_TEST(launched == graphed, tools::tolerance(1e-9));
  EmbeddingStep small = embedding_of({0.01, 0.01});
  small.lookup_forward_ms = {0.01, 0.01};
  small.exchange_forward_ms = small.exchange_backward_ms = 0;
  const DenseStep dense = make_dense_step(model, tables_of(26, 128), 8, some_rates()).value();
  const StepGraph graph = make_step_graph(model, dense, small, 2, no_time);
  double issued = 0;
  for (const StepTask& task : graph.tasks) issued += task.issue_ms;
  BOOST_TEST(iteration_cost(graph).iteration_ms == issued, tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(a_trace_has_every_device_and_stream) {
  const IterationCost cost = iteration_cost(graph_of(embedding_of({1, 0.5}), dcnv2()));
  const std::string text = format_chrome_trace(cost);
  const Result<io::JsonDocument> document = io::JsonDocument::parse(text, "trace");
  BOOST_TEST_REQUIRE(document.ok());
  io::JsonObject root = document->root().object().value();
  const io::JsonArray events = root.array("traceEvents").value();
  std::size_t tasks = 0;
  for (const io::JsonValue value : events) {
    io::JsonObject event = value.object().value();
    if (event.text("ph").value() == "M") continue;
    ++tasks;
    BOOST_TEST(event.number("ts", 0).ok());
    BOOST_TEST(event.number("dur", 0).ok());
    BOOST_TEST(event.integer("pid", 0, 1).ok());
    BOOST_TEST(event.integer("tid", 0, 2).ok());
  }
  const auto shown =
      std::count_if(cost.timeline.begin(), cost.timeline.end(),
                    [](const TimelineEntry& one) { return one.end_ms > one.start_ms; });
  BOOST_TEST(static_cast<std::int64_t>(tasks) == shown);
  BOOST_TEST(events.size() == tasks + 2U * 4U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
