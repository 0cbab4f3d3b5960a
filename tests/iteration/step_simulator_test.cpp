// Steps that are run again where something changed, held against steps that are run whole.
#include "engine/iteration/step_simulator.h"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <random>
#include <vector>

#include "engine/iteration/iteration_cost.h"
#include "engine/iteration/step_graph.h"
#include "tests/iteration/dense_models.h"

namespace neuroshard {
namespace {

/// A step of DLRM-DCNv2 whose devices have different lookups.
StepGraph uneven_step(std::int32_t devices, bool cuda_graph, std::mt19937& random) {
  DenseModel model = test::dcnv2();
  model.cuda_graph = cuda_graph;
  EmbeddingStep embedding;
  std::uniform_real_distribution<double> ms(0.2, 0.9);
  for (std::int32_t d = 0; d < devices; ++d) {
    embedding.lookup_forward_ms.push_back(ms(random));
    embedding.lookup_backward_ms.push_back(ms(random));
  }
  embedding.exchange_forward_ms = embedding.exchange_backward_ms = 0.3;
  embedding.input_exchange_ms = embedding.input_copy_ms = 0.1;
  embedding.forward_kernels = embedding.backward_kernels = 3;
  const DenseStep dense =
      make_dense_step(model, test::tables_of(26, 128), 6912, test::some_rates()).value();
  return make_step_graph(model, dense, embedding, devices,
                         [](double bytes) { return bytes * 1e-8; });
}

void give_each_device_its_own(StepGraph& graph) {
  for (StepTask& task : graph.tasks) {
    if (task.ms.size() == 1) {
      task.ms.assign(static_cast<std::size_t>(graph.devices), task.ms.front());
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(step_simulator)

BOOST_AUTO_TEST_CASE(a_change_gives_what_the_whole_step_gives_to_the_bit) {
  std::mt19937 random(3);
  for (const std::int32_t devices : {1, 2, 7, 64}) {
    StepGraph graph = uneven_step(devices, devices != 7, random);
    give_each_device_its_own(graph);
    StepSimulator simulator(graph);
    BOOST_TEST(simulator.iteration_ms() == iteration_cost(graph).iteration_ms);
    std::uniform_real_distribution<double> ms(0, 1.2);
    for (int move = 0; move < 400; ++move) {
      for (int both = 0; both < 2; ++both) {  // a table goes from one device to another
        const std::size_t device = random() % static_cast<unsigned>(devices);
        for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
          const StepPhase phase = graph.tasks[task].phase;
          if (phase != StepPhase::kLookupForward && phase != StepPhase::kLookupBackward) continue;
          graph.tasks[task].ms[device] = ms(random);
          simulator.set_ms(task, device, graph.tasks[task].ms[device]);
        }
      }
      BOOST_TEST_REQUIRE(simulator.iteration_ms() == iteration_cost(graph).iteration_ms);
      BOOST_TEST_REQUIRE(simulator.iteration_ms() == iteration_cost(graph).iteration_ms);
    }
  }
}

BOOST_AUTO_TEST_CASE(any_task_of_any_device_may_change) {
  std::mt19937 random(4);
  StepGraph graph = uneven_step(5, false, random);
  give_each_device_its_own(graph);
  StepSimulator simulator(graph);
  std::uniform_real_distribution<double> ms(0, 0.5);
  for (int move = 0; move < 500; ++move) {
    const std::size_t task = random() % graph.tasks.size();
    if (move % 5 == 0) {
      graph.tasks[task].ms.assign(5, ms(random));
      simulator.set_ms(task, graph.tasks[task].ms.front());
    } else {
      const std::size_t device = random() % 5;
      graph.tasks[task].ms[device] = ms(random);
      simulator.set_ms(task, device, graph.tasks[task].ms[device]);
    }
    if (move % 3 == 0) continue;  // several changes at once
    BOOST_TEST_REQUIRE(simulator.iteration_ms() == iteration_cost(graph).iteration_ms);
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
