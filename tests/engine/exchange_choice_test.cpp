// `auto`: the exchange format that costs least, and never more than fp32.
#include "engine/planner/exchange/exchange_choice.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "engine/core/rng.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(exchange_choice)

namespace {

Workload random_tables(Rng& rng) {
  Workload workload{{}, 65536};
  for (int index = 0; index < 20; ++index) {
    Table table;
    table.name = std::to_string(index);
    table.rows = std::int64_t{1} << rng.between(8, 22);
    table.dim = static_cast<std::int32_t>(4 * rng.between(1, 32));
    table.pooling_factor = static_cast<double>(rng.between(1, 30));
    table.reuse_histogram[static_cast<std::size_t>(rng.between(0, 4))] = 1;
    workload.tables.push_back(std::move(table));
  }
  return workload;
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_is_never_dearer_than_fp32) {
  for (const char* name : {"h200_sim", "torchrec"}) {
    const CostModels models = load_cost_models(name).value().models;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      Rng rng(seed);
      const Workload workload = random_tables(rng);
      const std::int32_t devices = 1 << rng.between(1, 4);
      Cluster cluster{.devices = devices, .memory_bytes = std::int64_t{40} << 30};
      const ClusterSearch search = [&](const Cluster& place) {
        return make_plan(workload, place, models, {.seed = seed, .evaluations = 500});
      };
      const double exact = search(cluster).value().cost.cost_ms;
      cluster.exchange = {Precision::kInt8, Precision::kInt8};  // what it was does not matter
      const PlanResult found = search_any_exchange(workload, models, search, cluster).value();
      BOOST_TEST(found.cost.cost_ms <= exact);
      BOOST_TEST(simulate(workload, found.plan, models, cluster).value().cost_ms ==
                 found.cost.cost_ms);
      if (std::string(name) == "torchrec") BOOST_TEST(!is_exact(cluster.exchange));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_format_has_to_save_something) {
  Rng rng(7);
  const Workload workload = random_tables(rng);
  CostModels models = load_cost_models("h200_sim").value().models;
  const Cluster alone{.devices = 1, .memory_bytes = std::int64_t{100} << 30};
  const Plan plan = make_plan(workload, alone, models, {.evaluations = 10}).value().plan;
  BOOST_TEST(is_exact(cheapest_exchange(workload, plan, models, alone).value()));
  // Nor is one chosen that the models know nothing of.
  models.device_gbps.reset();
  const Cluster eight{.devices = 8, .memory_bytes = std::int64_t{100} << 30};
  const Plan spread = make_plan(workload, eight, models, {.evaluations = 10}).value().plan;
  BOOST_TEST(is_exact(cheapest_exchange(workload, spread, models, eight).value()));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
