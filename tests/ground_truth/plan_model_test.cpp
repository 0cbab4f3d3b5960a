// Whole plans by the simulator: against measure_plan() where that knows the plan, against formulas
// by hand where it does not.
#include "engine/ground_truth/sim/plan_model.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/row_blocks.h"
#include "engine/ground_truth/make_ground_truth.h"
#include "engine/ground_truth/sim/comm_model.h"
#include "engine/ground_truth/sim/plan_loads.h"
#include "engine/ground_truth/sim/shard_load.h"
#include "tests/ground_truth/two_tables.h"

namespace neuroshard {
namespace {

ChosenProfile profile_of(const std::string& name) { return choose_profile(name).value(); }

Workload one_table(std::int64_t rows, std::int32_t dim, double pooling) {
  Table table;
  table.name = "clicks";
  table.rows = rows;
  table.dim = dim;
  table.pooling_factor = pooling;
  table.reuse_histogram = expected_reuse(rows, 65536 * pooling, 1.05).histogram;
  return {{table}, 65536};
}

/// The table's rows in even blocks on devices first, first + 1, ..
Plan row_blocks(const Workload& workload, std::int32_t devices, std::int32_t first,
                std::int32_t blocks) {
  Plan plan{devices, {}};
  const Table& table = workload.tables[0];
  const std::int64_t each = block_rows(table.rows, blocks);
  for (std::int32_t block = 0; block < blocks; ++block) {
    plan.shards.push_back(
        {0, block * each, std::min(table.rows, (block + 1) * each), 0, table.dim, first + block});
  }
  return plan;
}

PlanMeasurement cost_of(const ChosenProfile& hardware, const Workload& workload, const Plan& plan) {
  Result<PlanMeasurement> cost = simulate_plan(hardware, workload, plan);
  BOOST_REQUIRE_MESSAGE(cost.ok(), cost.status().message());
  return *cost;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plan_model)

BOOST_AUTO_TEST_CASE(plans_that_collections_know_cost_what_the_ground_truth_says) {
  const Workload workload = test::two_tables();
  const Plan plan = test::one_table_a_device(workload);
  GroundTruthOptions options;
  options.profile = "A100-80G+pcie";
  const auto truth = make_ground_truth(io::Backend::kSim, options).value();
  MeasureOptions measure;
  measure.measure_comm = true;
  const PlanMeasurement expected = measure_plan(*truth, workload, plan, measure).value();
  const PlanMeasurement found = cost_of(profile_of("A100-80G+pcie"), workload, plan);
  BOOST_TEST(found.cost.cost_ms == expected.cost.cost_ms);
  for (std::size_t d = 0; d < 2; ++d) {
    BOOST_TEST(found.compute[d].forward_ms == expected.compute[d].forward_ms);
    BOOST_TEST(found.cost.per_device[d].total_ms() == expected.cost.per_device[d].total_ms());
    BOOST_TEST(found.cost.per_device[d].memory_bytes == expected.cost.per_device[d].memory_bytes);
    BOOST_TEST(found.cost.per_device[d].dim_sum == expected.cost.per_device[d].dim_sum);
  }
}

BOOST_AUTO_TEST_CASE(half_precision_tables_cost_less_and_send_as_much) {
  Workload workload = test::two_tables();
  workload.tables[0].rows = workload.tables[1].rows = 10'000'000;
  workload.tables[0].dim = workload.tables[1].dim = 128;
  const Plan plan = test::one_table_a_device(workload);
  const PlanMeasurement wide = cost_of(profile_of("V100-32G"), workload, plan);
  for (Table& table : workload.tables) table.data_type = DataType::kFp16;
  const PlanMeasurement half = cost_of(profile_of("V100-32G"), workload, plan);
  BOOST_TEST(half.compute[0].forward_ms < wide.compute[0].forward_ms);
  for (Table& table : workload.tables) table.data_type = DataType::kBf16;
  const PlanMeasurement brain = cost_of(profile_of("V100-32G"), workload, plan);
  BOOST_TEST(brain.compute[0].forward_ms == half.compute[0].forward_ms);
  for (Table& table : workload.tables) table.data_type = DataType::kInt8;
  const PlanMeasurement byte = cost_of(profile_of("V100-32G"), workload, plan);
  BOOST_TEST(byte.compute[0].forward_ms < half.compute[0].forward_ms);
  // Scales and biases are read with the rows: 136 bytes, five sectors of 32.
  BOOST_TEST(byte.compute[0].forward_ms > 0.5 * half.compute[0].forward_ms);
  BOOST_TEST(half.cost.per_device[0].backward_comm_ms == wide.cost.per_device[0].backward_comm_ms);
}

BOOST_AUTO_TEST_CASE(row_blocks_send_as_many_columns_as_whole_tables_on_one_host) {
  const ChosenProfile hardware = profile_of("H100-80G");
  const Workload workload = one_table(1'000'000, 64, 20);
  const PlanMeasurement cost = cost_of(hardware, workload, row_blocks(workload, 4, 0, 4));
  const CommTime same = simulate_all_to_all(hardware.interconnect, std::vector<std::int64_t>(4, 64),
                                            std::vector(4, 0.0), 65536);
  BOOST_TEST(cost.cost.per_device[0].backward_comm_ms == same.backward_ms[0]);
  // Which block is the hottest is not known: here it is the first.
  // Its lookups find their rows in a cache more often, so that it is less dear than it is hot.
  BOOST_TEST(cost.compute[0].forward_ms > 1.05 * cost.compute[3].forward_ms);
}

BOOST_AUTO_TEST_CASE(the_last_host_may_have_fewer_devices) {
  // Six devices with rows, the last two of ten alone on their host.
  const Workload workload = one_table(1'000'000, 64, 20);
  const PlanLoads loads = plan_loads(workload, row_blocks(workload, 10, 4, 6), 8);
  BOOST_TEST(loads.exchange.added_up == std::vector<double>(10, 64),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(partial_sums_are_added_up_on_a_host_before_they_leave_it) {
  // Half of the rows on a device, quarters on one of the same host and on one of another.
  const auto uneven_rows = [](const Workload& of) {
    const std::int64_t rows = of.tables[0].rows;
    Plan plan = row_blocks(of, 16, 0, 1);
    plan.shards.resize(3, plan.shards[0]);
    plan.shards[0].row_end = plan.shards[1].row_begin = rows / 2;
    plan.shards[1].row_end = plan.shards[2].row_begin = rows / 4 * 3;
    plan.shards[1].device = 1;
    plan.shards[2].device = 9;
    return plan;
  };
  // 16 devices on two hosts, all rows dealt out. To the 7 neighbours 2 x 4,096 samples each; of
  // these, the 4,096 for the device of the same number on the other host. All of it, back and
  // forth.
  const ChosenProfile hardware = profile_of("H100-80G+cluster");
  const InterconnectProfile& link = hardware.interconnect;
  const Workload workload = one_table(1'000'000, 64, 20);
  const auto backward = [&](const Plan& plan) {
    return cost_of(hardware, workload, plan).cost.per_device[0].backward_comm_ms;
  };
  const double near = 7 * 2 * 4096.0 * 64 * 4 / link.intra_host_gbps.value * 1e-6;
  const double far = 4096.0 * 64 * 4 / link.inter_host_gbps.value * 1e-6;
  const double latency = link.inter_host_latency_us.value * 1e-3;
  BOOST_TEST(backward(row_blocks(workload, 16, 0, 16)) == std::max(near, far) + latency,
             boost::test_tools::tolerance(1e-9));
  // Over some devices that is a collective inside hosts after one between them. On one host alone,
  // the other host's devices only receive: the same busiest ports.
  const double latencies = latency + link.intra_host_latency_us.value * 1e-3;
  BOOST_TEST(backward(row_blocks(workload, 16, 8, 8)) == far + near + latencies,
             boost::test_tools::tolerance(1e-9));
  // So they are of two shards on two hosts or on one: what a host has, all of its ports send on.
  BOOST_TEST(backward(row_blocks(workload, 16, 7, 2)) == far + near + latencies,
             boost::test_tools::tolerance(1e-9));
  BOOST_TEST(backward(row_blocks(workload, 16, 3, 2)) == far + near + latencies,
             boost::test_tools::tolerance(1e-9));
  const ExchangeValues uneven = plan_loads(workload, uneven_rows(workload), 8).exchange;
  for (std::size_t d = 0; d < 16; ++d) {
    BOOST_TEST(uneven.partial[d] == (d == 0 || d == 1 || d == 9 ? 64 : 0));
    BOOST_TEST(uneven.added_up[d] == 64);
    BOOST_TEST(uneven.whole[d] == 0);
  }
  // Whole, the table sends 4,096 samples to each of eight devices over one port.
  const Plan whole{16, {whole_table(workload, 0, 0)}};
  const double all_far = 8 * 4096.0 * 64 * 4 / link.inter_host_gbps.value * 1e-6;
  const double copies = hardware.profile.exchange_copies.value * 2 * 4096.0 * 64 * 4 /
                        hardware.profile.dram_gbps.value * 1e-6;
  BOOST_TEST(backward(whole) == all_far + latency + copies, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(a_reduce_scatter_is_a_second_collective_where_trainers_have_one) {
  Workload workload = one_table(1'000'000, 64, 20);
  const auto collectives = [&](Plan plan, bool others) {
    workload.tables.resize(others ? 2 : 1, workload.tables[0]);
    if (others) plan.shards.push_back(whole_table(workload, 1, 3));
    const ExchangeValues sent = plan_loads(workload, plan, 4).exchange;
    for (const Shard& shard : plan.shards) {
      const auto d = static_cast<std::size_t>(shard.device);
      BOOST_TEST((shard.table == 0 ? sent.partial[d] : sent.whole[d]) == 64);
    }
    return sent.collectives;
  };
  const Plan everywhere = row_blocks(workload, 8, 0, 8);
  BOOST_TEST(collectives(everywhere, false) == 1);
  BOOST_TEST(collectives(everywhere, true) == 2);
  BOOST_TEST(collectives(row_blocks(workload, 8, 4, 4), true) == 2);  // over a host
  BOOST_TEST(collectives(row_blocks(workload, 8, 2, 4), true) == 1);  // over parts of two
  BOOST_TEST(collectives(row_blocks(workload, 8, 0, 2), true) == 1);
  Plan swapped = everywhere;
  std::swap(swapped.shards[2].device, swapped.shards[3].device);
  BOOST_TEST(collectives(swapped, true) == 1);
}

BOOST_AUTO_TEST_CASE(replicas_look_up_their_own_samples_and_reduce_all_gradients) {
  const ChosenProfile hardware = profile_of("H100-80G");
  const Workload workload = one_table(10'000, 64, 20);
  const PlanMeasurement whole = cost_of(hardware, workload, {4, {whole_table(workload, 0, 0)}});
  const Plan everywhere{4, {whole_table(workload, 0, kEveryDevice)}};
  const PlanMeasurement cost = cost_of(hardware, workload, everywhere);
  const double latency = hardware.interconnect.intra_host_latency_us.value * 1e-3;
  const double reduce =
      2 * 0.75 * 10'000 * 64 * 4 / hardware.interconnect.intra_host_gbps.value * 1e-6 + latency;
  for (const DeviceCost& device : cost.cost.per_device) {
    BOOST_TEST(device.compute_ms == cost.cost.per_device[0].compute_ms);
    BOOST_TEST(device.compute_ms < whole.cost.per_device[0].compute_ms);
    BOOST_TEST(device.compute_ms > whole.cost.per_device[0].compute_ms / 8);
    BOOST_TEST(device.backward_comm_ms == latency + reduce, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(device.memory_bytes == 10'000 * 64 * 4);
    BOOST_TEST(device.dim_sum == 64);
  }
}

BOOST_AUTO_TEST_CASE(a_replica_s_device_sees_fewer_rows_less_often) {
  const Workload workload = one_table(1'000'000, 64, 20);
  const ShardLoad all = shard_load(workload, whole_table(workload, 0, 0));
  const ShardLoad one = replica_load(workload, 0, 65536 / 8);
  BOOST_TEST(one.bags == 65536 / 8);
  BOOST_TEST(one.lookups == all.lookups / 8, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(one.distinct > all.distinct / 8);
  BOOST_TEST(one.distinct < all.distinct);
  double lookups = 0;
  for (std::size_t bin = 0; bin < one.use.rows.size(); ++bin) {
    lookups += one.use.rows[bin] * one.use.count[bin];
  }
  BOOST_TEST(lookups == one.lookups, boost::test_tools::tolerance(1e-9));
  // On the only device there is, nothing is different.
  BOOST_TEST(replica_load(workload, 0, 65536).distinct == all.distinct,
             boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(optimizers_that_keep_more_cost_more) {
  Workload workload = one_table(5'000'000, 64, 20);
  const Plan plan{2, {whole_table(workload, 0, 0)}};
  double before = 0;
  for (const Optimizer optimizer :
       {Optimizer::kSgd, Optimizer::kRowwiseAdagrad, Optimizer::kAdagrad,
        Optimizer::kPartialRowwiseAdam, Optimizer::kAdam}) {
    workload.tables[0].optimizer = optimizer;
    const double now = cost_of(profile_of("A40-48G"), workload, plan).compute[0].backward_ms;
    BOOST_TEST(now > before);
    before = now;
  }
}

BOOST_AUTO_TEST_CASE(features_and_sequences_send_more) {
  const ChosenProfile hardware = profile_of("H100-80G");
  Workload workload = one_table(1'000'000, 64, 20);
  const Plan plan{4, {whole_table(workload, 0, 0)}};
  const auto one = plan_loads(workload, plan, 4);
  workload.tables[0].features = 2;
  const auto two = plan_loads(workload, plan, 4);
  BOOST_TEST(one.exchange.whole[0] == 64);
  BOOST_TEST(two.exchange.whole[0] == 2 * 64);
  BOOST_TEST(two.lookups[0][0].bags == 2 * one.lookups[0][0].bags);
  BOOST_TEST(two.lookups[0][0].lookups == one.lookups[0][0].lookups);
  workload.tables[0].features = 1;
  workload.tables[0].weighted = true;
  BOOST_TEST(plan_loads(workload, plan, 4).lookups[0][0].lookup_bytes == 12);
  workload.tables[0].weighted = false;
  const double pooled = cost_of(hardware, workload, plan).cost.cost_ms;
  workload.tables[0].pooled = false;
  const auto sequence = plan_loads(workload, plan, 4);
  BOOST_TEST(sequence.exchange.whole[0] == 20 * 64);
  BOOST_TEST(sequence.lookups[0][0].bags == 20 * 65536);
  BOOST_TEST(cost_of(hardware, workload, plan).cost.cost_ms > 2 * pooled);
  // Rows of sequences are no partial sums: each block sends what it has looked up.
  const auto blocks = plan_loads(workload, row_blocks(workload, 4, 0, 4), 4);
  double sent = 0;
  for (std::size_t d = 0; d < 4; ++d) {
    BOOST_TEST(blocks.exchange.partial[d] == 0);
    BOOST_TEST(blocks.exchange.whole[d] * 65536 == blocks.lookups[d][0].lookups * 64,
               boost::test_tools::tolerance(1e-12));
    sent += blocks.exchange.whole[d];
  }
  BOOST_TEST(sent == 20 * 64, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(row_shards_of_any_sizes_have_the_skew_of_as_many_even_blocks) {
  Workload workload = test::two_tables();
  workload.tables.resize(1);
  Table& table = workload.tables[0];
  table.pooled = false;
  const double lookups = table.pooling_factor * static_cast<double>(workload.batch_size);
  table.reuse_histogram = expected_reuse(table.rows, lookups, 1.2).histogram;
  const auto shares = [&](std::span<const std::int64_t> ends) {
    Plan plan{static_cast<std::int32_t>(ends.size()), {}};
    Shard shard = whole_table(workload, 0, 0);
    for (const std::int64_t end : ends) {
      shard.row_end = end;
      plan.shards.push_back(shard);
      shard.row_begin = end;
      ++shard.device;
    }
    const PlanLoads loads = plan_loads(workload, plan, plan.devices);
    std::vector<double> found;
    for (const std::vector<ShardLoad>& own : loads.lookups) {
      found.push_back(own[0].lookups / lookups);
    }
    BOOST_TEST(std::accumulate(found.begin(), found.end(), 0.0) == 1,
               boost::test_tools::tolerance(1e-9));
    return found;
  };
  const std::int64_t part = table.rows / 4;
  const std::vector<double> even =
      shares(std::vector<std::int64_t>{part, 2 * part, 3 * part, table.rows});
  BOOST_TEST(even[0] > 0.3);  // the first has the hottest rows of the first table
  const std::vector<double> nearly =
      shares(std::vector<std::int64_t>{part + 1, 2 * part, 3 * part, table.rows});
  BOOST_TEST(nearly[0] == even[0], boost::test_tools::tolerance(0.01));
  const std::vector<double> large =
      shares(std::vector<std::int64_t>{2 * part, 3 * part, 3 * part + part / 2, table.rows});
  BOOST_TEST(large[0] > even[0]);
}

BOOST_AUTO_TEST_CASE(blocks_of_a_modulo_are_reduced_like_even_ones) {
  const Workload workload = one_table(1001, 64, 20);
  const Plan even = row_blocks(workload, 4, 0, 4);
  Plan modulo = even;
  for (std::int32_t k = 0; k < 4; ++k) {
    Shard& block = modulo.shards[static_cast<std::size_t>(k)];
    const RowRange rows = modulo_rows(1001, 4, k);
    block.row_begin = rows.begin;
    block.row_end = rows.end;
  }
  BOOST_TEST((modulo != even));
  const ChosenProfile hardware = profile_of("H100-80G");
  const double cost = cost_of(hardware, workload, even).cost.cost_ms;
  BOOST_TEST(cost_of(hardware, workload, modulo).cost.cost_ms == cost,
             boost::test_tools::tolerance(0.01));
  BOOST_TEST((plan_loads(workload, modulo, 4).exchange.partial ==
              plan_loads(workload, even, 4).exchange.partial));
}

BOOST_AUTO_TEST_CASE(hosts_have_as_many_devices_as_is_said) {
  const Result<ChosenProfile> four = with_hosts(profile_of("H100-80G+cluster"), 4, 8);
  BOOST_REQUIRE(four.ok());
  const Workload workload = one_table(1'000'000, 64, 20);
  const Plan plan{8, {whole_table(workload, 0, 0)}};
  BOOST_TEST(cost_of(*four, workload, plan).cost.cost_ms >
             2 * cost_of(profile_of("H100-80G+cluster"), workload, plan)
                     .cost.per_device[0]
                     .backward_comm_ms);
  BOOST_TEST(with_hosts(profile_of("H100-80G"), 8, 8).ok());
  const Status one_host = with_hosts(profile_of("H100-80G"), 4, 8).status();
  BOOST_TEST(one_host.message() ==
             "devices per host: found 4 for 8 devices on H100-80G+nvswitch, expected links between "
             "hosts, such as H100-80G+cluster");
  const Status uneven = with_hosts(profile_of("H100-80G+cluster"), 3, 8).status();
  BOOST_TEST(uneven.message() == "devices per host: found 3, expected a divisor of 8 devices");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_simulated_is_refused_in_one_line) {
  const ChosenProfile hardware = profile_of("V100-32G");
  const auto error = [&](const Workload& workload, const Plan& plan) {
    return simulate_plan(hardware, workload, plan).status().message();
  };
  Workload workload = one_table(200'000'000, 64, 20);
  const Plan plan{2, {whole_table(workload, 0, 1)}};
  BOOST_TEST(error(workload, plan) ==
             "device 1 holds 47.7 GiB, expected at most the 31.0 GiB of V100-32G");
  workload.tables[0].rows = 1000;
  BOOST_TEST(error(workload, plan).find("shards[0]") != std::string::npos);
  const Plan small{2, {whole_table(workload, 0, 1)}};
  workload.tables[0].optimizer = Optimizer::kLamb;
  BOOST_TEST(error(workload, small) ==
             "table 0 (clicks): optimizer is lamb, expected sgd, rowwise_adagrad, adagrad, adam or "
             "partial_rowwise_adam: others are not simulated");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
