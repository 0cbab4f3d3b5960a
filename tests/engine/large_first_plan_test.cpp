// With many tables on many devices there may be time for one plan alone: it counts exchanges, too.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/core/rng.h"
#include "engine/cost_model/make_evaluator.h"
#include "engine/cost_model/shipped_models.h"
#include "search/local/shape_catalog.h"
#include "search/problem.h"
#include "search/refine/fast_plan.h"
#include "search/search_space.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(large_first_plan)

namespace {

/// Lookups have nothing to do with dims: devices with as much to look up differ in what they send.
Workload many_tables(std::size_t count) {
  Rng rng(7);
  Workload workload;
  workload.batch_size = 65536;
  for (std::size_t k = 0; k < count; ++k) {
    Table table;
    table.rows = rng.between(1000, 1'000'000);
    table.dim = 4 << rng.below(6);
    table.pooling_factor = 1 + 20 * rng.uniform() * rng.uniform();
    table.reuse_histogram[0] = 1;
    workload.tables.push_back(table);
  }
  return workload;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_only_plan_of_many_tables_balances_what_devices_send) {
  constexpr std::int32_t kDevices = 64;
  const Workload workload =
      many_tables(1600);  // tables x devices: above what is tried in many ways
  const CostModels models = load_cost_models("h200_sim")->models;
  const auto evaluator = make_evaluator(models, workload, kDevices, 8, {});
  BOOST_REQUIRE(evaluator.ok());
  Cluster cluster;
  cluster.devices = kDevices;
  cluster.devices_per_host = 8;
  cluster.memory_bytes = std::int64_t{80} << 30;
  const search::Problem problem(workload, cluster, search::space_of(workload, cluster));
  const search::ShapeCatalog catalog(problem.space, **evaluator);
  const auto plan = search::fast_plan(problem, **evaluator, catalog, search::StopCheck({}), {}, 1);
  BOOST_REQUIRE(plan.has_value());
  std::vector<std::int64_t> dims(kDevices);
  for (const search::Placed& piece : plan->pieces) {
    dims[static_cast<std::size_t>(piece.device)] += catalog.entry(piece.entry).dim;
  }
  const double mean = std::accumulate(dims.begin(), dims.end(), 0.0) / kDevices;
  BOOST_TEST(static_cast<double>(*std::max_element(dims.begin(), dims.end())) < 1.1 * mean);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
