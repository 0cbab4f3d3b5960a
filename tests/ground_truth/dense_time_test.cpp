// What dense layers add to a step, beside the event simulator's time of the same step.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/rng.h"
#include "engine/ground_truth/sim/iteration_model.h"
#include "engine/ground_truth/sim/simulated_dense_part.h"
#include "engine/ground_truth/sim/step_parts.h"
#include "tests/iteration/dense_models.h"

namespace neuroshard {
namespace {

using test::dcnv2;
using test::dealt_out;
using test::tables_of;

ChosenProfile hopper_with(const std::string& links) {
  return choose_profile("H100-80G+" + links).value();
}

/// A model whose bottom network runs as long as exchanges do.
DenseModel wide_bottom() {
  DenseModel model = dcnv2();
  model.dense_features = 2048;
  model.bottom = {8192, 4096, 128};
  return model;
}

DenseModel in_hugectrs_order(DenseModel model) {
  model.schedule = StepSchedule::kHugectr;
  return model;
}

/// Some of them on every device: so many of four.
Plan random_whole_tables(const Workload& workload, std::int32_t devices, Rng& rng,
                         std::uint64_t replicas = 0) {
  Plan plan{devices, {}};
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    if (rng.below(4) < replicas) {
      plan.shards.push_back(whole_table(workload, table, kEveryDevice));
      continue;
    }
    const auto device = static_cast<std::int32_t>(rng.between(0, devices - 1));
    plan.shards.push_back(whole_table(workload, table, device));
  }
  return plan;
}

/// What tasks of that name run on a device.
double ran_ms(const IterationCost& cost, const std::string& name, std::int32_t device) {
  double ms = 0;
  for (const TimelineEntry& entry : cost.timeline) {
    if (entry.device == device && entry.name == name) ms += entry.end_ms - entry.start_ms;
  }
  return ms;
}

/// What the event simulator has the device do with its tables.
StepLoad load_of(const IterationCost& cost, std::int32_t device, double replica_bytes) {
  const auto ms = [&](const std::string& name) { return ran_ms(cost, name, device); };
  StepLoad load;
  load.lookup_forward_ms = ms("lookup");
  load.lookup_backward_ms = ms("lookup backward");
  load.sort_ms = ms("sort of rows");
  load.replicas = {ms("lookup, replicas"), ms("lookup backward, replicas")};
  load.exchange_forward_ms = ms("exchange");
  load.exchange_backward_ms = ms("exchange of gradients");
  load.input_ms = ms("rows of the next batch");
  load.reduced_bytes = replica_bytes;
  return load;
}

/// How far the step by DenseTime, of lookups and exchanges as the event simulator has them, is from
/// that simulator's, as a share.
double error_of_dense_time(const std::string& links, const Workload& workload, const Plan& plan,
                           const DenseModel& model) {
  const ChosenProfile hardware = hopper_with(links);
  const DenseTime dense = simulate_dense_time(hardware, workload, plan.devices, model).value();
  const IterationCost cost = simulate_iteration(hardware, workload, plan, model).value();
  double replica_bytes = 0;
  for (const Shard& shard : plan.shards) {
    if (shard.device == kEveryDevice)
      replica_bytes += 4.0 * static_cast<double>(shard.rows()) * shard.dim();
  }
  double step = 0;
  for (std::int32_t device = 0; device < plan.devices; ++device) {
    step = std::max(step, step_time(dense, load_of(cost, device, replica_bytes)).total_ms);
  }
  return std::abs(step / cost.iteration_ms - 1);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(dense_time)

BOOST_AUTO_TEST_CASE(steps_of_even_plans_are_those_of_the_event_simulator) {
  for (const DenseModel& model : {dcnv2(), wide_bottom()}) {
    for (const std::string links : {"nvswitch", "pcie", "cluster"}) {
      for (const std::int32_t devices : {2, 8, 16}) {
        if (devices == 16 && links != "cluster") continue;
        const Workload workload = tables_of(32, 128);
        BOOST_TEST(error_of_dense_time(links, workload, dealt_out(workload, devices), model) <
                   0.01);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(steps_of_any_plans_are_within_7_percent) {
  Rng rng(7);
  for (const DenseModel& model : {dcnv2(), wide_bottom(), in_hugectrs_order(dcnv2())}) {
    for (const std::string links : {"nvswitch", "pcie", "cluster"}) {
      for (int k = 0; k < 5; ++k) {
        const Workload workload = tables_of(32, 128);
        const auto devices = static_cast<std::int32_t>(rng.between(2, 8));
        const Plan plan = random_whole_tables(workload, devices, rng, k % 3);
        BOOST_TEST(error_of_dense_time(links, workload, plan, model) < 0.001);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_runs_beside_the_exchange_waits_not_for_the_next_batchs_rows) {
  Workload workload = tables_of(32, 16);
  for (Table& table : workload.tables) table.pooling_factor = 40;
  for (const DenseModel& model : {dcnv2(), in_hugectrs_order(dcnv2())}) {
    BOOST_TEST(error_of_dense_time("cluster", workload, dealt_out(workload, 16), model) < 0.001);
  }
}

// Messages between A100 hosts are the slower the smaller they are: the busiest device's are the
// largest.
BOOST_AUTO_TEST_CASE(the_next_batchs_rows_take_as_long_as_to_the_device_with_the_most) {
  Rng rng(9);
  const Workload workload = tables_of(32, 128);
  const std::vector<std::pair<std::string, std::int32_t>> settings{{"H100-80G+nvswitch", 8},
                                                                   {"H100-80G+cluster", 20},
                                                                   {"A100-80G+cluster", 16},
                                                                   {"A100-80G+cluster", 32}};
  for (const auto& [name, devices] : settings) {
    const ChosenProfile hardware = choose_profile(name).value();
    const StepHardware step = step_hardware(hardware, workload, devices, dcnv2()).value();
    const DenseTime time = simulate_dense_time(hardware, workload, devices, dcnv2()).value();
    for (const double most : {0.0, 0.5, 10.0, 300.0}) {
      std::vector<double> rows(static_cast<std::size_t>(devices));
      for (double& own : rows) own = most * rng.uniform();
      rows.back() = most;
      const double ms = input_exchange_ms(step.hardware, rows, workload.batch_size);
      BOOST_TEST(time.input_ms(most) == ms, boost::test_tools::tolerance(1e-3));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_bottom_network_hides_an_exchange_that_is_shorter) {
  const Workload workload = tables_of(32, 128);
  const DenseTime narrow =
      simulate_dense_time(hopper_with("nvswitch"), workload, 8, dcnv2()).value();
  const DenseTime wide =
      simulate_dense_time(hopper_with("nvswitch"), workload, 8, wide_bottom()).value();
  BOOST_TEST(wide.beside_forward_ms > 10 * narrow.beside_forward_ms);
  BOOST_TEST(wide.beside_backward_ms > wide.beside_forward_ms);
  const auto step_ms = [&](double forward_ms, double backward_ms) {
    return step_time(wide, {.exchange_forward_ms = forward_ms, .exchange_backward_ms = backward_ms})
        .total_ms;
  };
  const double half = wide.beside_forward_ms / 2;
  BOOST_TEST(step_ms(half, 0) == step_ms(0, 0), boost::test_tools::tolerance(1e-12));
  const double all = wide.rest_ms + wide.reduce_after_exchange_ms + wide.optimizer_ms;
  BOOST_TEST(step_ms(1e3, 1e3) == 2e3 + all, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(more_devices_have_fewer_samples_each) {
  const Workload workload = tables_of(32, 128);
  const auto rest = [&](std::int32_t devices) {
    return simulate_dense_time(hopper_with("cluster"), workload, devices, dcnv2())->rest_ms;
  };
  BOOST_TEST(rest(2) > 1.5 * rest(4));
  BOOST_TEST(rest(4) > 1.5 * rest(8));
}

BOOST_AUTO_TEST_CASE(hardware_without_dense_layers_is_refused) {
  ChosenProfile hardware = hopper_with("nvswitch");
  hardware.profile.fp16_tflops = {};
  const Status refused = simulated_dense_part(hardware, dcnv2(), {"model.json", "sha"}).status();
  BOOST_TEST(refused.message().find("H100-80G says nothing of dense layers") != std::string::npos,
             refused.message());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
