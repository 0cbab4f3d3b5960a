// How long it takes to simulate a training step, whole and where a table moved from one device to
// another, of DLRM-DCNv2's dense part and so many tables; and whether both give the same.
//
//   iteration_bench [--tables N] [--devices N] [--moves N]
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/flags.h"
#include "bench/support/timing.h"
#include "engine/core/rng.h"
#include "engine/core/version.h"
#include "engine/ground_truth/sim/profile_library.h"
#include "engine/iteration/dense_step.h"
#include "engine/iteration/kernel_times.h"
#include "engine/iteration/step_graph.h"
#include "engine/iteration/step_simulator.h"
#include "engine/iteration/streams.h"
#include "io/models/dense_model_file.h"

namespace neuroshard {
namespace {

constexpr const char* kModel =
    R"({"format": "neuroshard-model", "version": 1, "dense_features": 13, "bottom": [512, 256, 128],
        "interaction": {"kind": "dcn", "layers": 3, "rank": 512}, "top": [1024, 1024, 512, 256, 1],
        "precision": "fp16", "optimizer": "adagrad", "cuda_graph": true})";

/// Tables on devices, a lookup's time being the sum of its tables'.
class Placement {
 public:
  Placement(std::size_t tables, std::size_t devices, std::uint64_t seed)
      : rng_(seed), ms_(tables), on_(tables), loads_(devices) {
    for (std::size_t t = 0; t < tables; ++t) {
      ms_[t] = 0.01 + 0.1 * rng_.uniform();
      on_[t] = rng_.below(devices);
      loads_[on_[t]] += ms_[t];
    }
  }
  /// Moves a table; says from where and to where.
  std::pair<std::size_t, std::size_t> move() {
    const std::size_t table = rng_.below(ms_.size());
    const std::size_t from = on_[table];
    const std::size_t to = rng_.below(loads_.size());
    loads_[from] -= ms_[table];
    loads_[to] += ms_[table];
    on_[table] = to;
    return {from, to};
  }
  [[nodiscard]] const std::vector<double>& loads() const { return loads_; }

 private:
  Rng rng_;
  std::vector<double> ms_;
  std::vector<std::size_t> on_;
  std::vector<double> loads_;
};

std::vector<std::size_t> lookups_of(const StepGraph& graph) {
  std::vector<std::size_t> tasks;
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    const StepPhase phase = graph.tasks[task].phase;
    if (phase == StepPhase::kLookupForward || phase == StepPhase::kLookupBackward) {
      tasks.push_back(task);
    }
  }
  return tasks;
}

Workload some_tables(std::int64_t count) {
  Workload workload;
  workload.batch_size = 65536;
  for (std::int64_t t = 0; t < count; ++t) {
    Table table;
    table.name = std::to_string(t);
    table.rows = 100'000;
    table.dim = 128;
    table.pooling_factor = 4;
    workload.tables.push_back(table);
  }
  return workload;
}

Result<StepGraph> graph_of(const ChosenProfile& hardware, const Workload& workload,
                           const DenseModel& model, std::int32_t devices) {
  NEUROSHARD_ASSIGN_OR_RETURN(const KernelRates rates,
                              kernel_rates(hardware.profile, model.precision));
  const double samples = static_cast<double>(workload.batch_size) / devices;
  NEUROSHARD_ASSIGN_OR_RETURN(const DenseStep dense,
                              make_dense_step(model, workload, samples, rates));
  EmbeddingStep embedding;
  embedding.lookup_forward_ms.assign(static_cast<std::size_t>(devices), 0);
  embedding.lookup_backward_ms = embedding.lookup_forward_ms;
  embedding.exchange_forward_ms = embedding.exchange_backward_ms = 0.3;
  embedding.input_exchange_ms = embedding.input_copy_ms = 0.1;
  embedding.forward_kernels = embedding.backward_kernels = 1;
  return make_step_graph(model, dense, embedding, devices,
                         [](double bytes) { return 1e-8 * bytes; });
}

/// Nanoseconds by kind of simulation, and whether they agree.
struct Found {
  double whole = 0;  ///< a new StepSimulator and steady_steps() for each move
  double again = 0;  ///< a new StepSimulator for each move
  double delta = 0;  ///< one that is told the moves
  bool same = true;
};

double whole_step_ms(const StepGraph& graph) {
  StepSimulator simulator(graph);
  (void)simulator.iteration_ms();
  const LastSteps steps = steady_steps(graph, simulator.cycle());
  return end_of(graph, steps.last).ms - end_of(graph, steps.before).ms;
}

Found run_moves(StepGraph graph, std::int64_t tables, std::int64_t moves) {
  Found found;
  Placement placement(static_cast<std::size_t>(tables), static_cast<std::size_t>(graph.devices), 1);
  const std::vector<std::size_t> lookups = lookups_of(graph);
  for (const std::size_t task : lookups) graph.tasks[task].ms = placement.loads();
  StepSimulator simulator(graph);
  (void)simulator.iteration_ms();
  double whole_s = 0;
  double again_s = 0;
  double delta_s = 0;
  for (std::int64_t move = 0; move < moves; ++move) {
    const auto [from, to] = placement.move();
    for (const std::size_t task : lookups) {
      for (const std::size_t device : {from, to}) {
        graph.tasks[task].ms[device] = placement.loads()[device];
      }
    }
    const double begin = bench::thread_seconds();
    for (const std::size_t task : lookups) {
      for (const std::size_t device : {from, to}) {
        simulator.set_ms(task, device, placement.loads()[device]);
      }
    }
    const double delta_ms = simulator.iteration_ms();
    const double told = bench::thread_seconds();
    const double whole_ms = whole_step_ms(graph);
    const double ran = bench::thread_seconds();
    const double again_ms = StepSimulator(graph).iteration_ms();
    const double end = bench::thread_seconds();
    found.same = found.same && delta_ms == again_ms && std::abs(whole_ms / again_ms - 1) < 1e-9;
    delta_s += told - begin;
    whole_s += ran - told;
    again_s += end - ran;
  }
  const double each = 1e9 / static_cast<double>(moves);
  found.whole = whole_s * each;
  found.again = again_s * each;
  found.delta = delta_s * each;
  return found;
}

Status run(std::int64_t tables, std::int32_t devices, std::int64_t moves) {
  NEUROSHARD_ASSIGN_OR_RETURN(const ChosenProfile hardware, choose_profile("H100-80G+cluster"));
  NEUROSHARD_ASSIGN_OR_RETURN(const DenseModel model, io::parse_dense_model(kModel, "model"));
  const Workload workload = some_tables(tables);
  NEUROSHARD_ASSIGN_OR_RETURN(const StepGraph graph, graph_of(hardware, workload, model, devices));
  const Found found = run_moves(graph, tables, moves);
  std::printf("neuroshard %s (%s), %lld tables, %d devices, %zu tasks a device, %lld moves\n",
              version(), commit(), static_cast<long long>(tables), devices, graph.tasks.size(),
              static_cast<long long>(moves));
  std::printf(
      "a step, us of one thread: task by task %.1f, without causes %.1f, after a move %.2f\n",
      found.whole / 1e3, found.again / 1e3, found.delta / 1e3);
  std::printf("a move is %.1f times as fast as a whole step; all three %s\n",
              found.whole / found.delta, found.same ? "agree" : "DIFFER");
  if (found.same) return {};
  return internal_error("the simulations differ");
}

int main_of(int argc, char** argv) {
  std::int64_t tables = 100;
  std::int32_t devices = 64;
  std::int64_t moves = 10'000;
  apps::FlagSet flags;
  flags.integer("tables", "tables", &tables, 1, 100'000);
  flags.integer("devices", "devices", &devices, 1, 4096);
  flags.integer("moves", "moves of a table to another device", &moves, 1, bench::kMaxRounds);
  const auto code =
      bench::read_flags(flags, "How fast training steps are simulated.", {argv, argv + argc});
  return code ? *code : bench::exit_code_of(run(tables, devices, moves));
}

}  // namespace
}  // namespace neuroshard

int main(int argc, char** argv) { return neuroshard::main_of(argc, argv); }
