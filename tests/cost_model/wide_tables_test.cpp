// Tables wider than those that networks were trained on.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "engine/core/reuse_histogram.h"
#include "engine/cost_model/cost_model_file.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "engine/ground_truth/sim/profile_library.h"
#include "engine/planner/planner.h"
#include "tests/cost_model/random_models.h"

namespace neuroshard {
namespace {

Workload one_table(std::int32_t dim, double pooling_factor) {
  Workload workload;
  Table table;
  table.rows = 1'000'000;
  table.dim = dim;
  table.pooling_factor = pooling_factor;
  const double lookups = pooling_factor * static_cast<double>(workload.batch_size);
  table.reuse_histogram = expected_reuse(table.rows, lookups, 0).histogram;
  workload.tables = {table};
  return workload;
}

Plan in_columns(const Workload& workload, std::int32_t parts) {
  Plan plan{1, {}};
  const std::int32_t width = workload.tables[0].dim / parts;
  for (std::int32_t part = 0; part < parts; ++part) {
    plan.shards.push_back(whole_table(workload, 0, 0));
    plan.shards.back().column_begin = part * width;
    plan.shards.back().column_end = (part + 1) * width;
  }
  return plan;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(wide_tables)

BOOST_AUTO_TEST_CASE(a_wide_shard_costs_what_its_parts_do) {
  const CostModels models = load_shipped_models("h200_sim").value().models;
  for (const std::int32_t dim : {256, 512, 1024, 4096}) {
    const Workload workload = one_table(dim, 12);
    const double whole = simulate(workload, in_columns(workload, 1), models).value().cost_ms;
    const double parts =
        simulate(workload, in_columns(workload, dim / 128), models).value().cost_ms;
    BOOST_TEST(whole == parts, boost::test_tools::tolerance(1e-4));
  }
}

/// What the networks said of them was below 0, or a hundred times too much.
BOOST_AUTO_TEST_CASE(wide_shards_cost_about_what_the_simulator_says) {
  const struct {
    const char* models;
    const char* profile;
  } kPairs[] = {{"h200_sim", "H200-141G"}, {"h100_sim", "H100-80G"}, {"a100_sim", "A100-80G"}};
  for (const auto& [name, profile] : kPairs) {
    const CostModels models = load_shipped_models(name).value().models;
    const ChosenProfile hardware = choose_profile(profile).value();
    for (const std::int32_t dim : {160, 256, 512, 1024}) {
      for (const double pooling_factor : {1.0, 20.0}) {
        const Workload workload = one_table(dim, pooling_factor);
        const Plan plan = in_columns(workload, 1);
        const double predicted = simulate(workload, plan, models).value().cost_ms;
        const double told = simulate_plan(hardware, workload, plan).value().cost.cost_ms;
        BOOST_TEST(std::abs(predicted / told - 1) < 0.15,
                   name << ", " << dim << " columns: " << predicted << " ms, simulated " << told);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(files_say_how_wide_the_widest_was) {
  Rng rng(2);
  CostModels models = test::random_models(4, rng);
  const auto read_back = [](const CostModels& written) {
    return parse_cost_models(format_cost_models(written), "m").value().compute->max_dim;
  };
  BOOST_TEST(read_back(models) == 128);
  models.compute->max_dim = 512;
  BOOST_TEST(read_back(models) == 512);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
