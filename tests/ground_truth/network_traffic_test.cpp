// What networks, which have learned sets of tables and exchanges of outputs, say of whole plans
// with other lookups and layouts: beside the simulator, which knows them by itself.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/core/reuse_histogram.h"
#include "engine/core/rng.h"
#include "engine/core/row_blocks.h"
#include "engine/core/row_skew.h"
#include "engine/cost_model/pooled_lookup.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "engine/ground_truth/sim/shard_load.h"
#include "engine/planner/planner.h"

namespace neuroshard {
namespace {

Workload traffic_workload(std::size_t tables, std::uint64_t seed) {
  Rng rng(seed);
  Workload workload;
  for (std::size_t k = 0; k < tables; ++k) {
    Table table;
    table.name = "t" + std::to_string(k);
    table.rows = rng.between(1000, 3'000'000);
    table.dim = static_cast<std::int32_t>(16 * rng.between(1, 8));
    table.pooling_factor = 0.5 * static_cast<double>(rng.between(1, 40));
    const double lookups = table.pooling_factor * static_cast<double>(workload.batch_size);
    table.reuse_histogram = expected_reuse(table.rows, lookups, 0.4 + rng.uniform()).histogram;
    workload.tables.push_back(std::move(table));
  }
  return workload;
}

/// How much more networks say than the simulator, as a share.
double share_above_simulated(const Workload& workload, const Plan& plan, const std::string& links,
                             const ExchangeFormat& format = {}) {
  const CostModels networks = load_shipped_models("h100_sim").value().models;
  const ChosenProfile profile = choose_profile("H100-80G+" + links).value();
  Cluster cluster{.devices = plan.devices};
  cluster.exchange = format;
  const PlanCost said = simulate(workload, plan, networks, cluster).value();
  const PlanMeasurement simulated = simulate_plan(profile, workload, plan, format).value();
  return said.cost_ms / simulated.cost.cost_ms - 1;
}

Plan one_after_the_other(const Workload& workload, std::int32_t devices) {
  Plan plan{devices, {}};
  for (std::size_t k = 0; k < workload.tables.size(); ++k) {
    const auto table = static_cast<std::int32_t>(k);
    plan.shards.push_back(whole_table(workload, table, table % devices));
  }
  return plan;
}

/// Every table in even blocks of its rows on `count` devices after the other.
Plan in_row_blocks(const Workload& workload, std::int32_t devices, std::int32_t count) {
  Plan plan{devices, {}};
  for (std::size_t k = 0; k < workload.tables.size(); ++k) {
    const auto table = static_cast<std::int32_t>(k);
    Shard shard = whole_table(workload, table, table * count % devices);
    const std::int64_t all = shard.row_end;
    const std::int64_t block = block_rows(all, count);
    for (shard.row_begin = 0; shard.row_begin < all; shard.row_begin += block) {
      shard.row_end = std::min(all, shard.row_begin + block);
      plan.shards.push_back(shard);
      ++shard.device;
    }
  }
  canonicalize(plan);
  return plan;
}

/// Every table in even blocks of its rows on all devices of `count` hosts of 8, which may be any.
Plan in_row_blocks_on_hosts(const Workload& workload, std::int32_t devices, std::int32_t count,
                            Rng& rng) {
  Plan plan = in_row_blocks(workload, devices, 8 * count);
  std::vector<std::int32_t> hosts(static_cast<std::size_t>(devices / 8));
  std::iota(hosts.begin(), hosts.end(), 0);
  for (std::size_t k = 0; k < plan.shards.size(); ++k) {
    const auto block = static_cast<std::size_t>(k % static_cast<std::size_t>(8 * count));
    for (std::size_t h = 0; block == 0 && h < hosts.size(); ++h) {
      std::swap(hosts[h], hosts[h + rng.below(hosts.size() - h)]);
    }
    plan.shards[k].device = hosts[block / 8] * 8 + static_cast<std::int32_t>(block % 8);
  }
  return plan;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(network_traffic)

BOOST_AUTO_TEST_CASE(other_lookups_are_asked_about_as_pooled_ones_that_do_the_same_work) {
  const auto close = boost::test_tools::tolerance(1e-3);
  Rng rng(5);
  for (int draw = 0; draw < 200; ++draw) {
    Workload workload = traffic_workload(1, rng.below(1000));
    Table& table = workload.tables[0];
    table.features = static_cast<std::int32_t>(rng.between(1, 4));
    table.pooled = rng.below(2) == 0;
    Shard shard = whole_table(workload, 0, 0);
    shard.row_end = rng.between(1, table.rows);
    const ShardLoad load = shard_load(workload, shard);
    const PooledLookup own = as_pooled(table, shape_of(shard), workload.batch_size, 8);
    BOOST_TEST(own.table.pooled);
    BOOST_TEST(own.table.features == 1);
    // Of rows whose lookups are not pooled, the busiest shard's, which may be this one.
    const double skew =
        table.pooled ? 1 : busiest_shard(table, shape_of(shard), workload.batch_size, 8);
    const auto outputs = static_cast<double>(own.batch_size);
    BOOST_TEST(std::abs(outputs - load.bags * skew) <= 1);
    const double rows = static_cast<double>(shard.rows()) / static_cast<double>(table.rows);
    BOOST_TEST(outputs * own.table.pooling_factor * rows == load.lookups * skew, close);
  }
}

BOOST_AUTO_TEST_CASE(a_device_looks_its_part_of_a_replica_up_where_hot_rows_are_less_hot) {
  Rng rng(6);
  for (const std::int32_t devices : {2, 8, 64}) {
    for (int draw = 0; draw < 20; ++draw) {
      const Workload workload = traffic_workload(1, rng.below(1000));
      const Table& table = workload.tables[0];
      const ShardLoad load = replica_load(workload, 0, workload.batch_size / devices);
      const Shard everywhere = whole_table(workload, 0, kEveryDevice);
      const PooledLookup own = as_pooled(table, shape_of(everywhere), workload.batch_size, devices);
      BOOST_TEST(static_cast<double>(own.batch_size) == load.bags);
      const double lookups = load.bags * own.table.pooling_factor;
      BOOST_TEST(lookups == load.lookups, boost::test_tools::tolerance(1e-9));
      BOOST_TEST(distinct_rows(own.table.reuse_histogram, lookups, table.rows) == load.distinct,
                 boost::test_tools::tolerance(0.02));
    }
  }
}

BOOST_AUTO_TEST_CASE(networks_cost_tables_of_several_features_as_the_simulator_does) {
  Workload workload = traffic_workload(40, 1);
  for (Table& table : workload.tables) table.features = table.rows % 3 == 0 ? 2 : 1;
  // 5.1 % off here. Devices of the same tables with one feature are 3 to 4 % too dear, too: no
  // network has learned lookups that follow Zipf laws.
  BOOST_TEST(std::abs(share_above_simulated(workload, one_after_the_other(workload, 8),
                                            "nvswitch")) < 0.055);
}

BOOST_AUTO_TEST_CASE(networks_cost_lookups_that_are_not_pooled_nearly_as_the_simulator_does) {
  Workload workload = traffic_workload(40, 2);
  for (Table& table : workload.tables) table.pooled = table.rows % 3 != 0;
  // Networks that took each lookup for a bag were 6.1 % too dear here, where a third of the tables
  // is not pooled.
  BOOST_TEST(std::abs(share_above_simulated(workload, one_after_the_other(workload, 8),
                                            "nvswitch")) < 0.03);
}

BOOST_AUTO_TEST_CASE(networks_cost_replicas_as_the_simulator_does) {
  for (const std::int32_t devices : {8, 64}) {
    const Workload workload = traffic_workload(128, 3);
    Plan plan = one_after_the_other(workload, devices);
    for (Shard& shard : plan.shards) {
      if (shard.rows() < 200'000) shard.device = kEveryDevice;
    }
    canonicalize(plan);
    BOOST_TEST(std::abs(share_above_simulated(workload, plan, "cluster")) < 0.03);
  }
}

/// A device has few samples of a small global batch, fewer than networks have learned: they were up
/// to 0.6 ms below the simulator here, and below 0.
BOOST_AUTO_TEST_CASE(networks_cost_few_long_bags_of_replicas_as_the_simulator_does) {
  for (const std::int64_t samples : {64, 256, 512, 1024, 2048}) {
    for (const std::int64_t rows : {100, 10'000, 100'000}) {
      for (const double lookups : {1.0, 20.0, 50.0, 200.0}) {
        Workload workload = traffic_workload(1, 7);
        workload.batch_size = 64 * samples;
        Table& table = workload.tables[0];
        table.rows = rows;
        table.dim = 128;
        table.pooling_factor = lookups;
        table.reuse_histogram =
            expected_reuse(rows, lookups * static_cast<double>(workload.batch_size), 1.0).histogram;
        const Plan plan{64, {whole_table(workload, 0, kEveryDevice)}};
        const double share = share_above_simulated(workload, plan, "cluster");
        BOOST_TEST(std::abs(share) < 0.04, samples << " samples of " << lookups << " lookups of "
                                                   << rows << " rows: " << share);
      }
    }
  }
}

/// The second collective, and what hosts add up before they send it on.
BOOST_AUTO_TEST_CASE(networks_cost_row_blocks_over_hosts_as_the_simulator_does) {
  const Workload workload = traffic_workload(64, 4);
  for (const std::int32_t blocks : {8, 16, 32}) {
    const Plan plan = in_row_blocks(workload, 32, blocks);
    // Over some devices, hosts add up first: the busiest device of each step decides, and networks
    // know the mean: 6.3 % off at most here.
    BOOST_TEST(std::abs(share_above_simulated(workload, plan, "cluster")) < 0.07);
  }
}

/// Hosts that have a table's rows need not be neighbours.
BOOST_AUTO_TEST_CASE(networks_cost_rows_over_some_hosts_as_the_simulator_does) {
  Rng rng(8);
  const Workload workload = traffic_workload(64, 4);
  for (const std::int32_t hosts : {1, 2, 3}) {
    const Plan plan = in_row_blocks_on_hosts(workload, 64, hosts, rng);
    BOOST_TEST(std::abs(share_above_simulated(workload, plan, "cluster")) < 0.06);
  }
}

/// A search puts rows wherever a device has room: hosts have none or several parts of a table,
/// which these send once. Costed by the mean of all devices such plans are up to 179 % too dear
/// here, and with shards that know nothing of others on their host up to 21 %.
BOOST_AUTO_TEST_CASE(networks_cost_rows_anywhere_on_several_hosts_as_the_simulator_does) {
  Rng rng(9);
  double sum = 0;
  constexpr int kPlans = 12;
  for (int draw = 0; draw < kPlans; ++draw) {
    const std::int32_t devices = 8 << rng.between(1, 3);
    const std::size_t tables = 4 + rng.below(20);
    const Workload workload = traffic_workload(tables, rng.below(1000));
    Plan plan = in_row_blocks(workload, devices, rng.below(2) == 0 ? 8 : 16);
    for (Shard& shard : plan.shards) {
      if (rng.below(2) == 0) shard.device = static_cast<std::int32_t>(rng.below(devices));
    }
    canonicalize(plan);
    const double share = share_above_simulated(workload, plan, "cluster");
    sum += share;
    BOOST_TEST(std::abs(share) < 0.06, devices << " devices: " << share);
  }
  BOOST_TEST(std::abs(sum / kPlans) < 0.02, sum / kPlans);
}

/// One of a table's row shards has its hottest rows. Where all were taken to be as busy, plans are
/// up to 45 % too cheap here, and searches put steep tables in rows.
BOOST_AUTO_TEST_CASE(networks_cost_rows_of_sequences_as_the_simulator_does) {
  Rng rng(11);
  double sum = 0;
  constexpr int kPlans = 16;
  for (int draw = 0; draw < kPlans; ++draw) {
    const std::int32_t devices = 8 << rng.between(0, 3);
    const std::size_t tables = 1 + rng.below(8);
    Workload workload = traffic_workload(tables, rng.below(1000));
    workload.batch_size = 16384;
    for (Table& table : workload.tables) {
      table.pooled = rng.below(3) == 0;
      const double lookups = table.pooling_factor * static_cast<double>(workload.batch_size);
      const double exponent = 1.3 * rng.uniform();
      table.reuse_histogram = expected_reuse(table.rows, lookups, exponent).histogram;
    }
    Plan plan = in_row_blocks(workload, devices, rng.below(2) == 0 ? devices : 8);
    const double share = share_above_simulated(workload, plan, "cluster");
    sum += share;
    BOOST_TEST(std::abs(share) < 0.1, devices << " devices, " << tables << " tables: " << share);
  }
  BOOST_TEST(std::abs(sum / kPlans) < 0.04, sum / kPlans);
}

/// Devices copy outputs before they are coded, and after. With copies of as few bytes as travel,
/// exchanges in fp8 were 23 % below the simulator here, and plans as much as 9 %.
BOOST_AUTO_TEST_CASE(networks_cost_outputs_in_few_bits_as_the_simulator_does) {
  const Workload workload = traffic_workload(24, 4);
  const CostModels networks = load_shipped_models("h100_sim").value().models;
  const auto exchange_ms = [](const PlanCost& cost) {
    double sum = 0;
    for (const DeviceCost& own : cost.per_device) sum += own.backward_comm_ms;
    return sum / static_cast<double>(cost.per_device.size());
  };
  for (const std::int32_t devices : {2, 8, 16}) {
    const Plan plan = one_after_the_other(workload, devices);
    const ChosenProfile profile = choose_profile("H100-80G+cluster").value();
    for (const char* const format : {"fp16", "int8,bf16", "int8", "fp8"}) {
      Cluster cluster{.devices = devices};
      cluster.exchange = parse_exchange_format(format).value();
      const double said = exchange_ms(simulate(workload, plan, networks, cluster).value());
      const double simulated =
          exchange_ms(simulate_plan(profile, workload, plan, cluster.exchange).value().cost);
      BOOST_TEST(std::abs(said / simulated - 1) < 0.03,
                 devices << " devices, " << format << ": " << said << ", " << simulated);
    }
  }
}

/// Partial sums are added up on their way, so they travel in 16 bits where outputs take 8, and
/// codecs see them before hosts add them up. Counted as outputs, plans found are up to 32 % too
/// cheap. 8.1 % off here at most, on one host in fp16.
BOOST_AUTO_TEST_CASE(networks_cost_partial_sums_in_few_bits_as_the_simulator_does) {
  const Workload workload = traffic_workload(24, 4);
  for (const char* const format : {"fp16", "int8,bf16", "fp8"}) {
    for (const std::int32_t devices : {8, 32}) {
      for (const std::int32_t blocks : {8, 32}) {
        if (blocks > devices) continue;
        const Plan plan = in_row_blocks(workload, devices, blocks);
        const double share =
            share_above_simulated(workload, plan, "cluster", parse_exchange_format(format).value());
        BOOST_TEST(std::abs(share) < 0.085, format << ", " << devices << " devices: " << share);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
