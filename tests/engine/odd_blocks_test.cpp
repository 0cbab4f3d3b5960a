// Equal column blocks of tables that may be neither whole nor in halves: 20 columns are five blocks
// of 4.
#include <boost/test/unit_test.hpp>
#include <vector>

#include "engine/core/plan_check.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"
#include "search/equal_columns.h"

namespace neuroshard {
namespace {

Table only_columns(std::int32_t dim) {
  Table table;
  table.rows = 1'000'000;
  table.dim = dim;
  table.pooling_factor = 3;
  table.sharding.whole = table.sharding.rows = table.sharding.data_parallel = false;
  return table;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(odd_blocks)

BOOST_AUTO_TEST_CASE(tables_of_an_odd_number_of_blocks_are_in_these) {
  for (const char* const name : {"h200_sim", "torchrec"}) {
    const CostModels models = load_shipped_models(name).value().models;
    PlanOptions options;
    options.evaluations = 300;
    options.trainer.equal_columns = true;
    for (const std::int32_t dim : {12, 20, 28, 36, 44, 60, 100, 140}) {
      Workload workload;
      workload.tables = {only_columns(dim), only_columns(64), only_columns(dim)};
      for (const std::int32_t devices : {dim / 4, 35}) {
        const Cluster cluster{.devices = devices, .memory_bytes = std::int64_t{1} << 34};
        const Plan plan = make_plan(workload, cluster, models, options).value().plan;
        BOOST_TEST(validate(workload, plan).ok());
        BOOST_TEST(search::with_equal_columns(workload, plan).unequal.empty(),
                   name << ", " << dim << " columns on " << devices << " devices");
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
