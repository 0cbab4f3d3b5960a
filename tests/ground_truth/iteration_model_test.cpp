#include "engine/ground_truth/sim/iteration_model.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "engine/core/plan_bytes.h"
#include "engine/ground_truth/sim/iteration_plan.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "tests/iteration/dense_models.h"

namespace neuroshard {
namespace {

using test::dcnv2;
using test::dealt_out;
using test::tables_of;

ChosenProfile hopper(const std::string& links = "nvswitch") {
  return choose_profile("H100-80G+" + links).value();
}

double step_ms(const ChosenProfile& hardware, const Workload& workload, const Plan& plan,
               const DenseModel& model) {
  const Result<IterationCost> cost = simulate_iteration(hardware, workload, plan, model);
  BOOST_TEST_REQUIRE(cost.ok(), cost.status().message());
  return cost->iteration_ms;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(iteration_model)

BOOST_AUTO_TEST_CASE(lookups_are_those_of_the_plans_simulation) {
  const Workload workload = tables_of(16, 128);
  const Plan plan = dealt_out(workload, 8);
  DenseModel model = dcnv2();
  model.cuda_graph = false;  // launches as of a plan on its own
  const IterationCost cost = simulate_iteration(hopper(), workload, plan, model).value();
  const PlanMeasurement alone = simulate_plan(hopper(), workload, plan).value();
  const auto forward = static_cast<std::size_t>(StepPhase::kLookupForward);
  const auto backward = static_cast<std::size_t>(StepPhase::kLookupBackward);
  const auto device = static_cast<std::size_t>(cost.slowest_device);
  const auto near = boost::test_tools::tolerance(1e-9);
  BOOST_TEST(cost.phases[forward].ms == alone.compute[device].forward_ms, near);
  BOOST_TEST(cost.phases[backward].ms == alone.compute[device].backward_ms, near);
  BOOST_TEST(cost.iteration_ms > alone.compute[device].total_ms);
}

BOOST_AUTO_TEST_CASE(half_the_bytes_are_sent_in_half_the_time) {
  const Workload workload = tables_of(16, 128);
  const Plan plan = dealt_out(workload, 8);
  ChosenProfile hardware = hopper("pcie");
  hardware.interconnect.intra_host_latency_us.value = 0;
  DenseModel model = dcnv2();
  const auto exchange = static_cast<std::size_t>(StepPhase::kExchangeBackward);
  const double half = simulate_iteration(hardware, workload, plan, model)->phases[exchange].ms;
  model.precision = DensePrecision::kTf32;
  const double full = simulate_iteration(hardware, workload, plan, model)->phases[exchange].ms;
  BOOST_TEST(full == 2 * half, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(a_slower_part_makes_a_longer_step) {
  const Workload workload = tables_of(16, 128);
  const Plan plan = dealt_out(workload, 8);
  const double usual = step_ms(hopper(), workload, plan, dcnv2());
  BOOST_TEST(step_ms(hopper("pcie"), workload, plan, dcnv2()) > usual);
  DenseModel deeper = dcnv2();
  deeper.cross_layers = 6;
  BOOST_TEST(step_ms(hopper(), workload, plan, deeper) > usual);
  Workload heavier = workload;
  for (Table& table : heavier.tables) table.pooling_factor *= 4;
  BOOST_TEST(step_ms(hopper(), heavier, plan, dcnv2()) > usual);
  ChosenProfile slower = hopper();
  slower.profile.gemm_share.value /= 2;
  BOOST_TEST(step_ms(slower, workload, plan, dcnv2()) > usual);
  Plan one_sided = plan;
  for (Shard& shard : one_sided.shards) shard.device = shard.device / 4;
  BOOST_TEST(step_ms(hopper(), workload, one_sided, dcnv2()) > usual);
}

BOOST_AUTO_TEST_CASE(hugectrs_order_has_the_same_lookups_in_other_places) {
  const Workload workload = tables_of(16, 128);
  Plan plan = dealt_out(workload, 8);
  for (std::size_t i = 0; i < 8; ++i) plan.shards[i].device = kEveryDevice;
  DenseModel model = dcnv2();
  const IterationCost torchrec = simulate_iteration(hopper(), workload, plan, model).value();
  model.schedule = StepSchedule::kHugectr;
  const IterationCost hugectr = simulate_iteration(hopper(), workload, plan, model).value();
  const auto ms = [](const IterationCost& cost, StepPhase phase) {
    return cost.phases[static_cast<std::size_t>(phase)].ms;
  };
  // Two lookups a device do not overlap as tables of one do: a little more of them in all.
  for (const StepPhase phase : {StepPhase::kLookupForward, StepPhase::kLookupBackward}) {
    BOOST_TEST(ms(hugectr, phase) > ms(torchrec, phase));
    BOOST_TEST(ms(hugectr, phase) < 1.2 * ms(torchrec, phase));
  }
  BOOST_TEST(ms(hugectr, StepPhase::kAllReduce) < ms(torchrec, StepPhase::kAllReduce));
  BOOST_TEST(hugectr.iteration_ms < torchrec.iteration_ms);
}

BOOST_AUTO_TEST_CASE(tables_of_one_host_are_exchanged_in_steps_and_those_over_all_devices_are_not) {
  const Workload workload = tables_of(2, 128);
  ChosenProfile hardware = hopper("cluster");
  hardware.interconnect.devices_per_host.value = 4;
  const auto exchange_ms = [&](std::int32_t blocks) {
    Plan plan{8, {}};
    for (std::int32_t table = 0; table < 2; ++table) {
      for (std::int32_t block = 0; block < blocks; ++block) {
        Shard shard = whole_table(workload, table, block + (blocks == 4 ? 4 * table : 0));
        shard.row_begin = 1000 / blocks * block;
        shard.row_end = 1000 / blocks * (block + 1);
        plan.shards.push_back(shard);
      }
    }
    const IterationCost cost = simulate_iteration(hardware, workload, plan, dcnv2()).value();
    return cost.phases[static_cast<std::size_t>(StepPhase::kExchangeBackward)].ms;
  };
  const double in_steps = exchange_ms(4);
  const double together = exchange_ms(8);
  hardware.interconnect.intra_host_latency_us.value += 1000;
  BOOST_TEST(exchange_ms(4) == in_steps + 1, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(exchange_ms(8) == together);
}

BOOST_AUTO_TEST_CASE(hosts_have_the_latency_of_a_step) {
  const Workload workload = tables_of(16, 128);
  const Plan plan = dealt_out(workload, 16);
  ChosenProfile hardware = hopper("cluster");
  hardware.interconnect.inter_host_step_latency_us.value = 10;
  const double fast = step_ms(hardware, workload, plan, dcnv2());
  hardware.interconnect.inter_host_latency_us.value *= 10;  // of a collective on its own
  BOOST_TEST(step_ms(hardware, workload, plan, dcnv2()) == fast);
  hardware.interconnect.inter_host_step_latency_us.value = 1000;
  BOOST_TEST(step_ms(hardware, workload, plan, dcnv2()) > fast + 2);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_simulated_is_refused) {
  const Workload workload = tables_of(4, 128);
  Plan plan = dealt_out(workload, 2);
  ChosenProfile hardware = hopper();
  hardware.profile.fp16_tflops = {};
  const Status dense = simulate_iteration(hardware, workload, plan, dcnv2()).status();
  BOOST_TEST(dense.message().find("H100-80G says nothing of dense layers") != std::string::npos);
  plan.shards.pop_back();
  BOOST_TEST(!simulate_iteration(hopper(), workload, plan, dcnv2()).ok());
}

BOOST_AUTO_TEST_CASE(a_plan_of_its_own_fits_and_is_no_slower_than_a_plain_one) {
  const Workload workload = tables_of(26, 128);
  for (const std::int32_t devices : {1, 4, 16}) {
    const ChosenProfile hardware = hopper(devices > 8 ? "cluster" : "nvswitch");
    const Cluster cluster{.devices = devices, .memory_bytes = 20 << 20};
    const IterationPlan made = plan_iteration(hardware, workload, cluster, dcnv2()).value();
    BOOST_TEST(made.plan.devices == devices);
    for (const std::int64_t bytes : device_bytes(workload, made.plan)) {
      BOOST_TEST(bytes <= cluster.memory_bytes);
    }
    BOOST_TEST(step_ms(hardware, workload, made.plan, dcnv2()) <=
               step_ms(hardware, workload, dealt_out(workload, devices), dcnv2()) * 1.0001);
  }
}

BOOST_AUTO_TEST_CASE(too_little_memory_is_infeasible) {
  const Cluster cluster{.devices = 2, .memory_bytes = 1000};
  const Status status = plan_iteration(hopper(), tables_of(4, 128), cluster, dcnv2()).status();
  BOOST_TEST((status.code() == StatusCode::kInfeasible));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
