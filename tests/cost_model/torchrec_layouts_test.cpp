// TorchRec's formula on several hosts, and of tables that every device holds.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "engine/core/plan_bytes.h"
#include "engine/core/row_blocks.h"
#include "engine/cost_model/torchrec_evaluator.h"
#include "engine/cost_model/torchrec_formula.h"
#include "engine/cost_model/torchrec_rows.h"
#include "engine/planner/planner.h"
#include "search/plan_cost.h"
#include "tests/cost_model/torchrec_example.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(torchrec_layouts)

namespace {

using test::example;
using test::table_of;
using test::torchrec;

/// For two hosts with plenty of memory.
PlanResult planned(const Workload& workload, RowSplits row_splits, bool data_parallel = false) {
  const Cluster cluster{.devices = 16, .memory_bytes = std::int64_t{1} << 40};
  PlanOptions options;
  options.evaluations = 2000;
  options.row_splits = row_splits;
  options.data_parallel = data_parallel;
  return make_plan(workload, cluster, torchrec(), options).value();
}

/// `columns` of table 0, 1,000 rows, in blocks of 125 over the devices from `first` on.
void deal(std::int32_t begin, std::int32_t end, std::int32_t first, Plan& plan) {
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    plan.shards.push_back({0, 125 * rank, 125 * (rank + 1), begin, end, first + rank});
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(blocks_over_a_host_cost_what_torchrecs_estimator_says) {
  const Workload workload = example();
  TorchRecEvaluator thirty_two({}, workload, 32);  // 4 hosts of 8
  const double gb = 1024.0 * 1024 * 1024 / 1000;
  // An eighth of the lookups; all outputs are reduced on the host, and a device's share of them
  // goes to the other hosts.
  const double a = 3 * (8192 * 3 * 8 + 8192 * 3 * 64 * 4 + 65536 * 64 * 4) / (897 * gb) +
                   2.455 * 65536 * 64 * 4 / (897 * gb) +
                   2 * (65536 * 64 * 4 / (600 * gb) + 65536.0 / 32 * 4 * 64 * 4 / (12.5 * gb));
  BOOST_TEST(thirty_two.shape_cost(thirty_two.intern({0, 125, 64, 8})) == a,
             boost::test_tools::tolerance(1e-12));
  // Not over eight devices: over all.
  BOOST_TEST(thirty_two.shape_cost(thirty_two.intern({0, 125, 128})) ==
             thirty_two.shape_cost(thirty_two.intern({0, 32, 128, 32})));
}

BOOST_AUTO_TEST_CASE(data_parallel_tables_cost_what_torchrecs_estimator_says) {
  const Workload workload = example();
  const double gb = 1024.0 * 1024 * 1024 / 1000;
  const double bytes = 1000 * 128 * 4;
  // Of a device's own samples, at half the bandwidth; then the gradient of the whole table: to the
  // optimizer, and added up over a link a device, which two hosts do one and a half times, more of
  // them three times.
  const auto expected = [&](double devices, double on_host, double passes) {
    const double samples = 65536 / devices;
    const double forward = samples * 3 * 8 + samples * 3 * 128 * 4 + samples * 128 * 4;
    return (3 * forward + 9.22 * bytes) / (897 / 2.0 * gb) + passes * bytes / (on_host * 12.5 * gb);
  };
  for (const auto& [devices, passes] : {std::pair{4, 1.0}, {8, 1.0}, {16, 1.5}, {64, 3.0}}) {
    TorchRecEvaluator evaluator({}, workload, devices);
    const double cost = evaluator.shape_cost(evaluator.intern({0, 1000, 128, 0, true}));
    BOOST_TEST(cost == expected(devices, std::min(devices, 8), passes),
               boost::test_tools::tolerance(1e-12));
  }
}

// TorchRec 1.4's own numbers, with Topology(hbm_mem_bw=2000 * GB, intra_host_bw=450 * GB,
// inter_host_bw=50 * GB), GB being 2^30 bytes a second in bytes a millisecond.
BOOST_AUTO_TEST_CASE(other_bandwidths_cost_what_torchrecs_estimator_says) {
  const Workload workload = example();
  const TorchRecCosts costs{{{2000, 450, 50}}, 8};
  const auto check = [&](std::int32_t devices, const ShardShape& shape, double expected) {
    TorchRecEvaluator evaluator(costs, workload, devices);
    BOOST_TEST(evaluator.shape_cost(evaluator.intern(shape)) == expected,
               boost::test_tools::tolerance(1e-12));
  };
  check(2, {0, 1000, 128}, 0.32858615451388884);
  check(2, {0, 500, 128}, 0.2955343967013889);
  check(2, {0, 1000, 128, 0, true}, 0.19886207580566406);
  check(16, {0, 1000, 128}, 1.439697265625);
  check(16, {0, 1000, 64}, 0.73533935546875);
  check(16, {0, 63, 128}, 1.3441607666015625);
  check(16, {0, 125, 128, 8}, 0.3982260470920139);
  check(16, {0, 1000, 128, 0, true}, 0.02989673614501953);
}

// Held against TorchRec's own estimators by tests/torchrec/formula.py; here only the rule.
BOOST_AUTO_TEST_CASE(features_of_less_than_one_lookup_have_fewer_outputs_since_1_9) {
  TorchRecCosts newest;
  TorchRecCosts older;
  older.release = TorchRecRelease::k1_4;
  Table table = example().tables[0];
  const std::vector<ShardShape> shapes{
      {0, 1000, 128}, {0, 125, 128}, {0, 125, 128, 8}, {0, 1000, 128, 0, true}};
  const auto costs = [&](const TorchRecCosts& given, const ShardShape& shape) {
    return TorchRecFormula(given, 65536, 16).shard(table, shape, bytes_per_ms(given.device_gbps));
  };
  table.pooling_factor = 0.25;
  for (const ShardShape& shape : shapes) {
    const TorchRecShardCost now = costs(newest, shape);
    const TorchRecShardCost before = costs(older, shape);
    BOOST_TEST(now.compute_ms < before.compute_ms);
    BOOST_TEST(now.forward_ms == before.forward_ms / 4, boost::test_tools::tolerance(1e-12));
    const double backward = shape.replicated ? before.backward_ms : before.backward_ms / 4;
    BOOST_TEST(now.backward_ms == backward, boost::test_tools::tolerance(1e-12));
  }
  table.features = 3;
  table.pooling_factor = 2;
  BOOST_TEST(costs(newest, shapes[0]).forward_ms == costs(older, shapes[0]).forward_ms * 2 / 3,
             boost::test_tools::tolerance(1e-12));
  // Of a lookup and more, and of sequences, nothing has changed.
  for (const bool pooled : {true, false}) {
    table.pooled = pooled;
    table.pooling_factor = pooled ? 3 : 0.25;
    for (const ShardShape& shape : shapes) {
      BOOST_TEST(costs(newest, shape).total_ms() == costs(older, shape).total_ms());
    }
  }
}

BOOST_AUTO_TEST_CASE(replicated_tables_cost_every_device) {
  const Workload workload = example();
  const Plan plan{4,
                  {{0, 0, 1000, 0, 128, kEveryDevice},
                   {1, 0, 500, 0, 64, 2},
                   {2, 0, 100, 0, 16, kEveryDevice}}};
  const PlanCost cost = simulate(workload, plan, torchrec()).value();
  TorchRecEvaluator evaluator({}, workload, 4);
  const auto alone = [&](const ShardShape& shape) {
    return evaluator.shape_cost(evaluator.intern(shape));
  };
  const double replicas = alone({0, 1000, 128, 0, true}) + alone({2, 100, 16, 0, true});
  const std::vector<std::int64_t> bytes = device_bytes(workload, plan);
  for (std::size_t device = 0; device < 4; ++device) {
    const double expected = replicas + (device == 2 ? alone({1, 500, 64}) : 0);
    BOOST_TEST(cost.per_device[device].total_ms() == expected, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(cost.per_device[device].memory_bytes == bytes[device]);
  }
  BOOST_TEST(search::plan_cost(plan, evaluator) == cost.cost_ms,
             boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(tables_are_replicated_where_asked_and_known) {
  Workload workload{{}, 65536};
  for (int k = 0; k < 12; ++k) {
    workload.tables.push_back(table_of("t" + std::to_string(k), k % 2 == 0 ? 50 : 500000, 64, 2));
  }
  const Cluster cluster{.devices = 16, .memory_bytes = std::int64_t{1} << 40};
  PlanOptions options;
  options.evaluations = 2000;
  const PlanResult single = make_plan(workload, cluster, torchrec(), options).value();
  options.data_parallel = true;
  const PlanResult found = make_plan(workload, cluster, torchrec(), options).value();
  const auto replicas = [](const Plan& plan) {
    return std::count_if(plan.shards.begin(), plan.shards.end(),
                         [](const Shard& shard) { return shard.device == kEveryDevice; });
  };
  BOOST_TEST(replicas(single.plan) == 0);
  BOOST_TEST(replicas(found.plan) > 0);
  BOOST_TEST(found.cost.cost_ms < 0.8 * single.cost.cost_ms);
  BOOST_TEST(simulate(workload, found.plan, torchrec()).value().cost_ms == found.cost.cost_ms);
  const auto bound = cost_lower_bound(workload, cluster, torchrec(), RowSplits::kEven, true);
  BOOST_TEST(**bound <= found.cost.cost_ms);
  // Networks know none, so there are none.
  const CostModels networks = load_cost_models("h200_sim")->models;
  BOOST_TEST(replicas(make_plan(workload, cluster, networks, options).value().plan) == 0);
}

BOOST_AUTO_TEST_CASE(tables_over_hosts_cost_each_device_of_those_hosts) {
  const Workload workload = example();
  Plan plan{16, {{1, 0, 500, 0, 64, 3}, {2, 0, 100, 0, 16, 9}}};
  deal(0, 96, 8, plan);  // TorchRec's grid_shard
  deal(96, 128, 0, plan);
  const PlanCost cost = simulate(workload, plan, torchrec()).value();
  TorchRecEvaluator evaluator({}, workload, 16);
  const auto alone = [&](const ShardShape& shape) {
    return evaluator.shape_cost(evaluator.intern(shape));
  };
  for (std::int32_t device = 0; device < 16; ++device) {
    double expected = alone({0, 125, device < 8 ? 32 : 96, 8});
    if (device == 3) expected += alone({1, 500, 64});
    if (device == 9) expected += alone({2, 100, 16});
    const DeviceCost& own = cost.per_device[static_cast<std::size_t>(device)];
    BOOST_TEST(own.total_ms() == expected, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(own.memory_bytes == device_bytes(workload, plan)[static_cast<std::size_t>(device)]);
  }
  BOOST_TEST(search::plan_cost(plan, evaluator) == cost.cost_ms,
             boost::test_tools::tolerance(1e-6));

  plan.shards[2].device = 9;  // not in the order of ranks
  plan.shards[3].device = 8;
  BOOST_TEST(simulate(workload, plan, torchrec()).status().message() ==
             "shards[2]: rows [0, 125) x columns [0, 96) of table 0 on device 9, expected blocks "
             "of 63 rows and all columns over all devices in order, or blocks of 125 rows over the "
             "8 devices of a host: the cost model torchrec knows no other parts of rows");
}

BOOST_AUTO_TEST_CASE(blocks_of_a_modulo_cost_what_even_ones_cost) {
  // 1001 rows over 16 devices and over a host of 8: the modulo's last blocks have a row less, not
  // the last one 10 or 3 times as many less.
  const Workload workload{{table_of("all", 1001, 64, 40), table_of("host", 1001, 64, 10)}, 65536};
  const auto dealt = [&](bool modulo) {
    Plan plan{16, {}};
    for (const std::int32_t count : {16, 8}) {
      for (std::int32_t k = 0; k < count; ++k) {
        const std::int64_t even = block_rows(1001, count);
        const RowRange rows =
            modulo ? modulo_rows(1001, count, k)
                   : RowRange{k * even, std::min<std::int64_t>(1001, (k + 1) * even)};
        const std::int32_t table = count == 16 ? 0 : 1;
        plan.shards.push_back({table, rows.begin, rows.end, 0, 64, 16 - count + k});
      }
    }
    return plan;
  };
  const PlanCost even = simulate(workload, dealt(false), torchrec()).value();
  const PlanCost modulo = simulate(workload, dealt(true), torchrec()).value();
  for (std::size_t device = 0; device < 16; ++device) {
    BOOST_TEST(modulo.per_device[device].total_ms() == even.per_device[device].total_ms());
  }
  Plan other = dealt(true);
  std::swap(other.shards[8].row_end, other.shards[9].row_begin);  // still 63 and 63
  other.shards[15].row_begin = --other.shards[14].row_end;        // 61 and 63
  BOOST_TEST(!simulate(workload, other, torchrec()).ok());
}

BOOST_AUTO_TEST_CASE(tables_go_over_hosts_where_links_between_them_are_slow) {
  // Two tables for 32 devices: in columns one per device at best, each sent over the slow links.
  const Workload workload{{table_of("a", 1000000, 64, 40), table_of("b", 1001, 64, 10)}, 65536};
  const Cluster cluster{.devices = 32, .memory_bytes = std::int64_t{1} << 40};
  PlanOptions options;
  options.evaluations = 2000;
  options.row_splits = RowSplits::kOff;
  const PlanResult whole = make_plan(workload, cluster, torchrec(), options).value();
  options.row_splits = RowSplits::kEven;
  const PlanResult rows = make_plan(workload, cluster, torchrec(), options).value();
  BOOST_TEST(rows.cost.cost_ms < 0.8 * whole.cost.cost_ms);
  BOOST_TEST(simulate(workload, rows.plan, torchrec()).value().cost_ms == rows.cost.cost_ms);
  const auto bound = cost_lower_bound(workload, cluster, torchrec(), RowSplits::kEven);
  BOOST_TEST(**bound <= rows.cost.cost_ms);
  BOOST_TEST(dealt_columns(workload, rows.plan, 8).value().size() > 0);
}

BOOST_AUTO_TEST_CASE(tables_with_a_row_for_each_device_of_a_host_cost_no_more_for_it) {
  // In blocks of a row on the first host they would look like row_wise ones, which cost all hosts.
  for (const std::size_t count : {1, 2, 8}) {
    const Workload workload{std::vector<Table>(count, table_of("days", 8, 4, 5)), 65536};
    const PlanResult rows = planned(workload, RowSplits::kEven);
    const PlanResult whole = planned(workload, RowSplits::kOff);
    BOOST_TEST(rows.cost.cost_ms <= whole.cost.cost_ms);
    const std::vector<DealtColumns> dealt = dealt_columns(workload, rows.plan, 8).value();
    const bool on_a_host = std::any_of(dealt.begin(), dealt.end(), [](const DealtColumns& each) {
      return each.devices == 8 && each.first_device == 8;
    });
    BOOST_TEST(on_a_host);
  }
}

BOOST_AUTO_TEST_CASE(few_tables_go_over_hosts_though_that_costs_all_devices_more) {
  // Eight devices together have more to do for one, but each less, and there are enough of them.
  const Workload workload{std::vector<Table>(2, table_of("few", 1000, 4, 1)), 65536};
  const PlanResult rows = planned(workload, RowSplits::kEven);
  const PlanResult whole = planned(workload, RowSplits::kOff);
  BOOST_TEST(rows.cost.cost_ms < 0.2 * whole.cost.cost_ms);
}

BOOST_AUTO_TEST_CASE(replicas_that_do_not_pay_make_no_plan_dearer) {
  // All replicas would be cheapest together, but tables fare better by columns.
  const Workload workload{
      {table_of("a", 10000, 64, 1), table_of("b", 100000, 32, 1), table_of("c", 100000, 16, 5)},
      65536};
  const PlanResult without = planned(workload, RowSplits::kOff);
  const PlanResult with = planned(workload, RowSplits::kOff, true);
  BOOST_TEST(with.cost.cost_ms <= without.cost.cost_ms);
}

BOOST_AUTO_TEST_CASE(a_plan_near_one_whose_blocks_leave_devices_out_is_no_dearer) {
  Rng rng(3);
  for (int trial = 0; trial < 20; ++trial) {
    Workload workload;
    workload.tables.push_back(table_of("dealt", 10, 128, 60));  // TorchRec charges all eight
    Plan now{8, {}};
    for (std::int32_t rank = 0; rank < 5; ++rank) {
      now.shards.push_back({0, 2 * rank, 2 * (rank + 1), 0, 128, rank});
    }
    for (std::int32_t table = 1; table < 17; ++table) {
      workload.tables.push_back(table_of("whole", 1000, 64, 1 + 9 * rng.uniform()));
      now.shards.push_back(whole_table(workload, table, table % 8));
    }
    const Cluster cluster{.devices = 8, .memory_bytes = std::int64_t{1} << 40};
    const double before = simulate(workload, now, torchrec()).value().cost_ms;
    const PlanResult next = replan(workload, cluster, torchrec(), now,
                                   {.bytes = cluster.memory_bytes}, {.evaluations = 2000})
                                .value();
    BOOST_TEST(next.cost.cost_ms <= before);
    BOOST_TEST(simulate(workload, next.plan, torchrec()).value().cost_ms == next.cost.cost_ms);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
