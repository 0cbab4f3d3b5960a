// usage: consumer TABLES.json OUTPUT.json: plans the tables on 8 devices of 80 GB, from C++.
#include <neuroshard/engine.hpp>

#include <cstdio>
#include <fstream>

namespace ns = neuroshard;

namespace {

template <typename T>
T must(ns::Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::exit(1);
}

void check_small_workload(const ns::Planner& planner) {
  ns::Workload workload = must(ns::Workload::create());
  expect(workload.add({.name = "user", .rows = 1000000, .dim = 64, .pooling_factor = 5}).ok(),
         "add");
  const ns::Result<void> again = workload.add({.name = "user", .rows = 1, .dim = 1});
  expect(!again && again.error().status == NEUROSHARD_INVALID_INPUT, "names are unique");
  expect(must(workload.table(0)).reuse_histogram.size() == 17, "derived histogram");
  const ns::Cluster cluster{.devices = 2, .memory_bytes = 1000000000};
  const ns::Cancellation cancellation = must(ns::Cancellation::create());
  int updates = 0;
  ns::PlanOptions options{.algorithm = "neuroshard", .seed = 3, .cancellation = &cancellation};
  options.progress = [&](auto, auto, auto, auto) { ++updates; };
  const ns::Plan plan = must(planner.plan(workload, cluster, options));
  expect(updates > 0 && plan.info().seed == 3, "options arrive");
  const ns::Plan same = must(ns::Plan::create(2, 65536, plan.shards()));
  expect(same.cost_ms() == 0 && same.device_costs().empty(), "a plan by hand has no costs");
  expect(must(planner.simulate(workload, same)).cost_ms() == plan.cost_ms(),
         "simulated like planned");
  const ns::Result<void> tight = plan.check(workload, {.devices = 2, .memory_bytes = 1000});
  expect(!tight && tight.error().status == NEUROSHARD_INFEASIBLE, "memory is checked");
}

}  // namespace

int main(int argc, char** argv) {
  expect(argc == 3, "two arguments");
  const ns::Planner planner = must(ns::Planner::create(must(ns::CostModels::shipped())));
  check_small_workload(planner);
  const ns::Workload workload = must(ns::Workload::read_file(argv[1]));
  const ns::Cluster cluster{.devices = 8, .memory_bytes = 80000000000};
  const ns::Plan plan = must(planner.plan(workload, cluster, {.algorithm = "neuroshard"}));
  std::ofstream(argv[2], std::ios::binary) << must(plan.export_as(workload));
}
