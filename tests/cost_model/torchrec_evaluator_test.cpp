#include "engine/cost_model/torchrec_evaluator.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "engine/core/plan_bytes.h"
#include "engine/core/rng.h"
#include "engine/cost_model/make_evaluator.h"
#include "engine/planner/planner.h"
#include "tests/cost_model/random_models.h"
#include "tests/cost_model/torchrec_example.h"

namespace neuroshard {
namespace {

using test::example;
using test::table_of;
using test::torchrec;

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

BOOST_AUTO_TEST_CASE(data_types_features_and_weights_count_as_in_torchrecs_estimator) {
  Workload workload = example();
  Table& table = workload.tables[0];  // 1000 rows, dim 128, 3 lookups a sample
  table.data_type = DataType::kFp16;
  table.features = 2;
  const double gb = 1024.0 * 1024 * 1024 / 1000;
  const auto close = boost::test_tools::tolerance(1e-12);
  const double lookups = 65536 * 3;
  // An output a feature, of two bytes a column, where it is written and where it is exchanged.
  const double outputs = 65536 * 2 * 128 * 2;
  const double forward = (lookups * 8 + lookups * 128 * 2 + outputs) / (897 * gb);
  TorchRecEvaluator two({}, workload, 2);
  BOOST_TEST(two.shape_cost(two.intern({0, 1000, 128})) == 3 * forward + 2 * outputs / (600 * gb),
             close);
  for (const DataType type : {DataType::kBf16, DataType::kInt8}) {
    Workload other = workload;
    other.tables[0].data_type = type;
    TorchRecEvaluator alike({}, other, 2);
    BOOST_TEST(alike.shape_cost(alike.intern({0, 1000, 128})) ==
               two.shape_cost(two.intern({0, 1000, 128})));
  }
  // Weights are read beside the indices, and have gradients.
  table.weighted = true;
  const double with_weights = forward + lookups * 8 / (897 * gb);
  TorchRecEvaluator weighted({}, workload, 2);
  BOOST_TEST(weighted.shape_cost(weighted.intern({0, 1000, 128})) ==
                 4.1 * with_weights + 2 * outputs / (600 * gb),
             close);
}

BOOST_AUTO_TEST_CASE(rows_that_are_not_pooled_are_outputs_each) {
  Workload workload = example();
  Table& table = workload.tables[0];  // 1000 rows, dim 128, 3 lookups a sample
  table.pooled = false;
  table.features = 2;  // whose lookups are in those three
  const double gb = 1024.0 * 1024 * 1024 / 1000;
  const auto close = boost::test_tools::tolerance(1e-12);
  const double lookups = 65536 * 3;
  const double bytes = lookups * 128 * 4;  // of the rows that are read, and of the outputs
  TorchRecEvaluator evaluator({}, workload, 2);
  BOOST_TEST(evaluator.shape_cost(evaluator.intern({0, 1000, 128})) ==
                 3 * (lookups * 8 + 2 * bytes) / (897 * gb) + 2 * bytes / (600 * gb),
             close);
  // A block has its share of the outputs, too: nothing is summed up.
  BOOST_TEST(evaluator.shape_cost(evaluator.intern({0, 500, 128, 2})) ==
                 3 * (lookups * 8 + 2 * bytes) / 2 / (897 * gb) + bytes / 2 * 2.455 / (897 * gb) +
                     bytes / (600 * gb),
             close);
}

BOOST_AUTO_TEST_CASE(networks_that_see_no_batch_size_refuse_what_is_not_pooled) {
  Workload workload = example();
  workload.tables[1].pooled = false;
  CostModels networks = load_cost_models("h200_sim")->models;
  BOOST_TEST(make_evaluator(networks, workload, 2).ok());
  ComputeModel& compute = *networks.compute;
  compute.features = FeatureSet::parse("dim,rows,pooling_factor").value();
  Rng rng(1);
  compute.table = test::random_mlp({3, 8, 4}, nn::Activation::kRelu, rng);
  compute.head = test::random_mlp({4, 8, 1}, nn::Activation::kNone, rng);
  compute.scaling = test::random_scaling(3, rng, 1, 1);
  const Cluster cluster{.devices = 2, .memory_bytes = std::int64_t{1} << 40};
  const Status refused = make_plan(workload, cluster, networks, {}).status();
  BOOST_TEST((refused.code() == StatusCode::kInvalidInput));
  BOOST_TEST(refused.message().find("table 1") == 0U);
  BOOST_TEST(refused.message().find(
                 "lookups are not pooled: networks whose features do not change with the batch "
                 "size know pooled lookups alone") != std::string::npos,
             refused.message());
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
    BOOST_TEST(rows.lower_bound.value() <= **bound * (1 + 1e-12));
  }
  const auto bound = cost_lower_bound(workload, cluster, torchrec(), RowSplits::kOff);
  BOOST_TEST(whole.lower_bound.value() <= **bound * (1 + 1e-12));
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
    if (devices > 1) BOOST_TEST(plan->lower_bound.value() <= **bound * (1 + 1e-12));
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
