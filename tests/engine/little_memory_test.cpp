// Plans where the tables fill nearly all memory.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>

#include "engine/core/plan_bytes.h"
#include "engine/core/reuse_histogram.h"
#include "engine/core/shard_bytes.h"
#include "engine/core/table.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"
#include "io/tables/tables.h"

namespace neuroshard {

BOOST_AUTO_TEST_SUITE(little_memory)

// DLRM-DCNv2's five tables of 19 GiB have to be in few pieces, one of them in rows: found by an
// integer program (CP-SAT), by TorchRec 1.4's formula, were 3.951 ms at 95 % and 4.224 ms at 98 %.
BOOST_AUTO_TEST_CASE(large_tables_are_in_few_pieces) {
  const std::string file = std::string(NEUROSHARD_SOURCE_DIR) + "/examples/dlrm_dcnv2.json";
  const Workload workload = io::make_workload(io::read_tables(file).value(), file).value();
  const CostModels models = load_cost_models("torchrec")->models;
  for (const double fill : {0.95, 0.98}) {
    const auto each =
        static_cast<std::int64_t>(static_cast<double>(workload_bytes(workload)) / 8 / fill);
    PlanOptions options;
    options.evaluations = 50'000;
    const PlanResult found = make_plan(workload, {8, each}, models, options).value();
    BOOST_TEST(found.cost.cost_ms < 4.0, fill);
    for (const std::int64_t bytes : device_bytes(workload, found.plan)) BOOST_TEST(bytes <= each);
  }
}

// All tables in rows on all devices fit at once, and leave no room for a walk to get anywhere else.
BOOST_AUTO_TEST_CASE(plans_in_rows_are_not_the_only_ones_where_nothing_else_moves) {
  const auto table = [](std::int64_t rows, std::int32_t dim, double lookups, double zipf_alpha) {
    Table one;
    one.name = "t" + std::to_string(rows);
    one.rows = rows;
    one.dim = dim;
    one.pooling_factor = lookups;
    one.reuse_histogram = expected_reuse(rows, 65536 * lookups, zipf_alpha).histogram;
    return one;
  };
  Workload workload{{table(3'011'885, 128, 20, 0), table(178'235, 32, 0, 0),
                     table(251'562, 64, 20, 1.05), table(122, 64, 0, 0)},
                    65536};
  workload.tables[0].data_type = DataType::kFp16;
  const CostModels models = load_cost_models("h200_sim")->models;
  const auto cost_with = [&](RowSplits rows) {
    PlanOptions options;
    options.evaluations = 30'000;
    options.row_splits = rows;
    return make_plan(workload, {12, 73'670'698}, models, options)->cost.cost_ms;
  };
  BOOST_TEST(cost_with(RowSplits::kAny) < 1.001 * cost_with(RowSplits::kOff));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
