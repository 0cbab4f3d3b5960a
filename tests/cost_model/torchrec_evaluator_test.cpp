#include "engine/cost_model/torchrec_evaluator.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "engine/core/rng.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/cost_model/torchrec_rows.h"
#include "engine/planner.h"
#include "search/plan_cost.h"

namespace neuroshard {
namespace {

Table table_of(std::string name, std::int64_t rows, std::int32_t dim, double pooling_factor) {
  Table table;
  table.name = std::move(name);
  table.rows = rows;
  table.dim = dim;
  table.pooling_factor = pooling_factor;
  table.reuse_histogram[0] = 1;
  return table;
}

Workload example() {
  return {{table_of("a", 1000, 128, 3), table_of("b", 500, 64, 20), table_of("c", 100, 16, 1)},
          65536};
}

CostModels torchrec() { return load_cost_models("torchrec").value().models; }

/// For two hosts with plenty of memory.
PlanResult planned(const Workload& workload, RowSplits row_splits, bool data_parallel = false) {
  const Cluster cluster{.devices = 16, .memory_bytes = std::int64_t{1} << 40};
  PlanOptions options;
  options.evaluations = 2000;
  options.row_splits = row_splits;
  options.data_parallel = data_parallel;
  return make_plan(workload, cluster, torchrec(), options).value();
}

BOOST_AUTO_TEST_SUITE(torchrec_evaluator)

// By hand from its formula; scripts/torchrec_study.py holds whole plans against TorchRec itself.
BOOST_AUTO_TEST_CASE(shards_cost_what_torchrecs_estimator_says) {
  const Workload workload = example();
  TorchRecEvaluator two({}, workload, 2);
  const double gb = 1024.0 * 1024 * 1024 / 1000;
  const double a = 3 * (65536 * 3 * 8 + 65536 * 3 * 128 * 4 + 65536 * 128 * 4) / (897 * gb) +
                   2 * 65536 * 128 * 4 / (600 * gb);
  BOOST_TEST(two.shape_cost(two.intern({0, 1000, 128})) == a, boost::test_tools::tolerance(1e-12));
  // Narrow shards: at least 32 columns are read, and the kernels are less efficient.
  const double c = 3 * 1.75 * (65536 * 8 + 65536 * 32 * 4 + 65536 * 16 * 4) / (897 * gb) +
                   2 * 65536 * 16 * 4 / (600 * gb);
  BOOST_TEST(two.shape_cost(two.intern({2, 100, 16})) == c, boost::test_tools::tolerance(1e-12));
  // Above one host every byte goes over the slow links.
  TorchRecEvaluator sixteen({}, workload, 16);
  const double slow = a + 2 * 65536 * 128 * 4 * (1 / (12.5 * gb) - 1 / (600 * gb));
  BOOST_TEST(sixteen.shape_cost(sixteen.intern({0, 1000, 128})) == slow,
             boost::test_tools::tolerance(1e-12));
  // TorchRec's batch is a whole number of samples on each rank.
  Workload odd = example();
  odd.batch_size = 65537;
  TorchRecEvaluator rounded({}, odd, 2);
  BOOST_TEST(rounded.shape_cost(rounded.intern({0, 1000, 128})) == a,
             boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(row_wise_blocks_cost_what_torchrecs_estimator_says) {
  const Workload workload = example();
  TorchRecEvaluator four({}, workload, 4);
  const double gb = 1024.0 * 1024 * 1024 / 1000;
  // A quarter of the lookups; the outputs of all samples, the copies of whose gradients count with
  // the exchange there; no floor of 32 columns and no penalty.
  const double c = 3 * (16384 * 8 + 16384 * 16 * 4 + 65536 * 16 * 4) / (897 * gb) +
                   2.455 * 65536 * 16 * 4 / (897 * gb) + 2 * 65536 * 16 * 4 / (600 * gb);
  for (const std::int64_t rows : {1, 25, 99}) {  // of however many rows
    BOOST_TEST(four.shape_cost(four.intern({2, rows, 16})) == c,
               boost::test_tools::tolerance(1e-12));
  }
}

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
  const CostModels networks = load_cost_models("h200_sim")->models;
  BOOST_TEST(simulate(workload, plan, networks).status().message() ==
             "shards[0]: table 0 is on every device: the cost model torchrec alone knows "
             "data-parallel tables");
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

/// `columns` of table 0, 1,000 rows, in blocks of 125 over the devices from `first` on.
void deal(std::int32_t begin, std::int32_t end, std::int32_t first, Plan& plan) {
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    plan.shards.push_back({0, 125 * rank, 125 * (rank + 1), begin, end, first + rank});
  }
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

BOOST_AUTO_TEST_CASE(all_ways_to_cost_a_plan_agree) {
  const Workload workload = example();
  Rng rng(3);
  for (int round = 0; round < 100; ++round) {
    TorchRecEvaluator evaluator({}, workload, 3);
    Plan plan{3, {}};
    std::vector<float> compute(3, evaluator.empty_cost());
    std::vector<std::int64_t> dims(3);
    std::vector<search::Scratch> states(3, search::Scratch(evaluator.state_size()));
    for (search::Scratch& state : states) evaluator.clear(state.data());
    for (std::int32_t table = 0; table < 3; ++table) {
      const std::int32_t dim = workload.tables[static_cast<std::size_t>(table)].dim;
      const auto cut = static_cast<std::int32_t>(4 * rng.between(1, dim / 4 - 1));
      for (const auto& [begin, end] : {std::pair{0, cut}, std::pair{cut, dim}}) {
        const auto device = static_cast<std::int32_t>(rng.below(3));
        const auto d = static_cast<std::size_t>(device);
        const std::int64_t rows = workload.tables[static_cast<std::size_t>(table)].rows;
        plan.shards.push_back({table, 0, rows, begin, end, device});
        const search::ShapeId shape = evaluator.intern(shape_of(plan.shards.back()));
        const float* parts[] = {states[d].data(), evaluator.addend(shape)};
        const float summed = evaluator.cost_of_sum(parts);
        float with = 0;
        evaluator.costs_with(shape, states[d], {&with, 1});
        compute[d] = evaluator.place(shape, states[d].data());
        BOOST_TEST(compute[d] == summed);
        BOOST_TEST(compute[d] == with);
        dims[d] += end - begin;
      }
    }
    const PlanCost cost = evaluator.evaluate(plan);
    double batch_cost = 0;
    search::Scratch scratch;
    evaluator.plan_costs({1, compute, dims}, {&batch_cost, 1}, scratch);
    BOOST_TEST(batch_cost == cost.cost_ms, boost::test_tools::tolerance(1e-6));
    std::vector<double> ready(3);
    std::vector<double> total(3);
    evaluator.plan_details({1, compute, dims}, {ready, total}, scratch);
    BOOST_TEST(*std::max_element(total.begin(), total.end()) == batch_cost);
    for (std::size_t d = 0; d < 3; ++d) {
      const DeviceCost& device = cost.per_device[d];
      const auto close = boost::test_tools::tolerance(1e-6);
      BOOST_TEST(total[d] == device.total_ms(), close);
      BOOST_TEST(ready[d] == total[d]);  // nothing waits
      BOOST_TEST(device.memory_bytes == device_bytes(workload, plan)[d]);
      BOOST_TEST(device.dim_sum == dims[d]);
    }
  }
}

BOOST_AUTO_TEST_CASE(plans_are_searched_and_simulated_under_it) {
  const Workload workload = example();
  const Cluster cluster{.devices = 2, .memory_bytes = 1 << 30};
  const PlanResult best =
      make_plan(workload, cluster, torchrec(), {.algorithm = "neuroshard"}).value();
  BOOST_TEST(simulate(workload, best.plan, torchrec()).value().cost_ms == best.cost.cost_ms);
  BOOST_TEST(simulated(torchrec()));
}

BOOST_AUTO_TEST_CASE(parts_of_rows_are_costed_on_all_devices_alone) {
  const Workload workload = example();
  Plan rows{2,
            {{0, 0, 500, 0, 128, 0},
             {0, 500, 1000, 0, 128, 1},
             {1, 0, 500, 0, 64, 0},
             {2, 0, 100, 0, 16, 0}}};
  TorchRecEvaluator evaluator({}, workload, 2);
  const double block = evaluator.shape_cost(evaluator.intern({0, 500, 128}));
  const Result<PlanCost> cost = simulate(workload, rows, torchrec());
  BOOST_REQUIRE(cost.ok());
  BOOST_TEST(cost->per_device[1].total_ms() == block, boost::test_tools::tolerance(1e-6));

  const auto refused = [&](const std::string& shard) {
    const Status status = simulate(workload, rows, torchrec()).status();
    BOOST_TEST(
        status.message() ==
        shard +
            ", expected blocks of 500 rows and all columns over all devices in order: the cost "
            "model torchrec knows no other parts of rows");
  };
  rows.shards[1].device = 0;  // two on a device
  refused("shards[1]: rows [500, 1000) x columns [0, 128) of table 0 on device 0");
  rows.shards[0].device = 1;  // against the order of ranks
  refused("shards[0]: rows [0, 500) x columns [0, 128) of table 0 on device 1");
  rows.shards[0].device = 0;
  rows.shards[0].row_end = rows.shards[1].row_begin = 400;  // uneven
  refused("shards[0]: rows [0, 400) x columns [0, 128) of table 0 on device 0");
  rows.shards[0] = {0, 0, 1000, 0, 64, 0};  // a half of the columns has halves of rows
  rows.shards[1] = {0, 0, 500, 64, 128, 0};
  rows.shards.push_back({0, 500, 1000, 64, 128, 1});
  refused("shards[1]: rows [0, 500) x columns [64, 128) of table 0 on device 0");
}

BOOST_AUTO_TEST_CASE(row_wise_tables_cost_devices_without_rows_the_same) {
  // TorchRec deals 5 rows out to 4 ranks as 2, 2, 1 and 0.
  const Workload workload{{table_of("few", 5, 128, 3)}, 65536};
  const Plan plan{4, {{0, 0, 2, 0, 128, 0}, {0, 2, 4, 0, 128, 1}, {0, 4, 5, 0, 128, 2}}};
  const PlanCost cost = simulate(workload, plan, torchrec()).value();
  TorchRecEvaluator evaluator({}, workload, 4);
  const double block = evaluator.shape_cost(evaluator.intern({0, 2, 128}));
  for (const DeviceCost& device : cost.per_device) {
    BOOST_TEST(device.total_ms() == block, boost::test_tools::tolerance(1e-12));
  }
  BOOST_TEST(cost.per_device[3].memory_bytes == 0);
  BOOST_TEST(cost.per_device[3].dim_sum == 0);
}

BOOST_AUTO_TEST_CASE(tables_go_row_wise_where_that_is_cheaper) {
  // Narrow parts of a row cost TorchRec's kernels more than their share.
  const Workload workload{{table_of("a", 1000000, 64, 400), table_of("b", 1000, 64, 1)}, 65536};
  const Cluster cluster{.devices = 8, .memory_bytes = std::int64_t{1} << 40};
  PlanOptions options;
  options.evaluations = 2000;
  options.row_splits = RowSplits::kOff;
  const PlanResult whole = make_plan(workload, cluster, torchrec(), options).value();
  for (const RowSplits row_splits : {RowSplits::kEven, RowSplits::kAny}) {
    options.row_splits = row_splits;
    const PlanResult rows = make_plan(workload, cluster, torchrec(), options).value();
    BOOST_TEST(rows.cost.cost_ms < 0.5 * whole.cost.cost_ms);
    BOOST_TEST(simulate(workload, rows.plan, torchrec()).value().cost_ms == rows.cost.cost_ms);
    const auto bound = cost_lower_bound(workload, cluster, torchrec(), row_splits);
    BOOST_TEST(**bound <= rows.cost.cost_ms);
    BOOST_TEST((rows.lower_bound == *bound));
  }
  const auto bound = cost_lower_bound(workload, cluster, torchrec(), RowSplits::kOff);
  BOOST_TEST((whole.lower_bound == *bound));
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

BOOST_AUTO_TEST_CASE(all_tables_that_cost_less_row_wise_go_so) {
  // The dearest, which are tried first, do not; most of the narrow ones do.
  Workload workload{{}, 65536};
  for (int k = 0; k < 30; ++k) {
    workload.tables.push_back(table_of("wide" + std::to_string(k), 5000, 128, 40 + k));
    workload.tables.push_back(table_of("narrow" + std::to_string(k), 5000, 16, 20 + k));
  }
  const Cluster cluster{.devices = 8, .memory_bytes = std::int64_t{1} << 40};
  PlanOptions options;
  options.evaluations = 1000;
  const PlanResult plan = make_plan(workload, cluster, torchrec(), options).value();
  BOOST_TEST(plan.cost.cost_ms < 1.05 * plan.lower_bound.value());
}

BOOST_AUTO_TEST_CASE(no_plan_costs_less_than_the_lower_bound) {
  const Workload workload = example();
  for (const std::int32_t devices : {1, 2, 8, 16}) {
    const Cluster cluster{.devices = devices, .memory_bytes = std::int64_t{1} << 40};
    const auto bound = cost_lower_bound(workload, cluster, torchrec(), RowSplits::kEven);
    BOOST_REQUIRE(bound.ok());
    BOOST_REQUIRE(bound->has_value());
    PlanOptions options;
    options.evaluations = 2000;
    const auto plan = make_plan(workload, cluster, torchrec(), options);
    BOOST_REQUIRE(plan.ok());
    BOOST_TEST(**bound > 0);
    BOOST_TEST(**bound <= plan->cost.cost_ms);
    // One device has no choice of plans, and no use for a bound.
    if (devices > 1) BOOST_TEST((plan->lower_bound == *bound));
  }
  const Cluster cluster{.devices = 2, .memory_bytes = std::int64_t{1} << 40};
  const auto networks =
      cost_lower_bound(workload, cluster, load_cost_models("h200_sim")->models, RowSplits::kOff);
  BOOST_REQUIRE(networks.ok());
  BOOST_TEST(!networks->has_value());
  BOOST_TEST(!cost_lower_bound({}, cluster, torchrec(), RowSplits::kEven).ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard
