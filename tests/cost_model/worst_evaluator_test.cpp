// The worst of several models, device by device, against the models one by one.
#include "engine/cost_model/worst_evaluator.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <memory>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "engine/core/hot_rows.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/make_evaluator.h"
#include "engine/cost_model/shipped_models.h"
#include "search/plan_cost.h"
#include "tests/cost_model/random_models.h"

namespace neuroshard {
namespace {

constexpr std::int32_t kDevices = 4;

/// Two networks and TorchRec's formula, one by one and together.
struct Three {
  explicit Three(const Workload& tables) : workload(tables) {
    Rng rng(5);
    models.push_back(load_shipped_models("h200_sim").value().models);
    models.push_back(load_shipped_models("a100_sim").value().models);
    models.push_back(load_shipped_models("torchrec").value().models);
    for (const CostModels& one : models) {
      const double scale = rng.between(5, 20) / 10.0;
      const double offset = all.worst_of.empty() ? 0 : rng.between(-5, 5) / 10.0;
      all.worst_of.push_back({&one, scale, offset});
      alone.push_back(make_evaluator(one, workload, kDevices).value());
    }
    worst = make_evaluator(all, workload, kDevices).value();
  }

  /// The largest of what each says, scaled.
  template <typename MsOf>
  double largest(const MsOf& ms_of) const {
    double most = -1e9;
    for (std::size_t k = 0; k < alone.size(); ++k) {
      most = std::max(most, all.worst_of[k].scale * ms_of(k) + all.worst_of[k].offset_ms);
    }
    return most;
  }

  const Workload& workload;
  std::vector<CostModels> models;
  CostModels all;
  std::vector<std::unique_ptr<CostEvaluator>> alone;
  std::unique_ptr<CostEvaluator> worst;
};

Workload some_tables(std::uint64_t seed) {
  Rng rng(seed);
  Workload workload = test::random_workload(12, rng);
  workload.batch_size = 65536;
  return workload;
}

void check_close(double found, double expected) {
  BOOST_TEST(std::abs(found - expected) <= 2e-5 * (1 + std::abs(expected)),
             found << " for " << expected);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(worst_evaluator)

BOOST_AUTO_TEST_CASE(devices_cost_what_the_worst_model_says) {
  const Workload workload = some_tables(1);
  Three models(workload);
  const std::size_t size = models.worst->state_size();
  AlignedVector<float> state(size);
  models.worst->clear(state.data());
  std::vector<AlignedVector<float>> states;
  for (const auto& one : models.alone) {
    states.emplace_back(one->state_size());
    one->clear(states.back().data());
  }
  const AlignedVector<float> cleared = state;
  check_close(models.worst->empty_cost(),
              models.largest([&](std::size_t k) { return models.alone[k]->empty_cost(); }));
  std::vector<const float*> parts{cleared.data()};
  std::vector<search::ShapeId> shapes;
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    const Table& own = workload.tables[static_cast<std::size_t>(table)];
    shapes.push_back(models.worst->intern({table, own.rows, own.dim}));
    BOOST_TEST(models.worst->intern({table, own.rows, own.dim}) == shapes.back());
  }
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    const search::ShapeId shape = shapes[static_cast<std::size_t>(table)];
    const Table& own = workload.tables[static_cast<std::size_t>(table)];
    const ShardShape whole{table, own.rows, own.dim};
    check_close(models.worst->shape_cost(shape), models.largest([&](std::size_t k) {
      return models.alone[k]->shape_cost(models.alone[k]->intern(whole));
    }));
    float with = 0;
    models.worst->costs_with(shape, state, {&with, 1});
    const double expected = models.largest([&](std::size_t k) {
      return models.alone[k]->place(models.alone[k]->intern(whole), states[k].data());
    });
    check_close(with, expected);
    check_close(models.worst->place(shape, state.data()), expected);
    parts.push_back(models.worst->addend(shape));
    check_close(models.worst->cost_of_sum(parts), expected);
  }
  // However many parts a sum has.
  const std::vector<float> zeros(size);
  const double sum = models.worst->cost_of_sum(parts);
  parts.resize(200, zeros.data());
  check_close(models.worst->cost_of_sum(parts), sum);
}

BOOST_AUTO_TEST_CASE(plans_cost_the_largest_scaled_cost_of_a_model) {
  const Workload workload = some_tables(2);
  Three models(workload);
  Rng rng(3);
  for (int k = 0; k < 20; ++k) {
    Plan plan{kDevices, {}};
    for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
      plan.shards.push_back(
          whole_table(workload, table, static_cast<std::int32_t>(rng.below(kDevices))));
    }
    double largest = 0;
    for (std::size_t m = 0; m < models.alone.size(); ++m) {
      largest =
          std::max(largest, models.all.worst_of[m].scale * models.alone[m]->evaluate(plan).cost_ms);
    }
    BOOST_TEST(models.worst->evaluate(plan).cost_ms == largest,
               boost::test_tools::tolerance(1e-12));
  }
}

/// Then what a search goes by is what the plan costs.
BOOST_AUTO_TEST_CASE(searches_see_the_exact_cost_where_the_first_model_is_the_worst) {
  const Workload workload = some_tables(4);
  Three models(workload);
  models.all.worst_of[0].scale = 1;
  for (std::size_t k = 1; k < 3; ++k) models.all.worst_of[k] = {&models.models[k], 1e-3, 0};
  const auto worst = make_evaluator(models.all, workload, kDevices).value();
  Plan plan{kDevices, {}};
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    plan.shards.push_back(whole_table(workload, table, table % kDevices));
  }
  const auto [compute, dims, collectives, work] = search::place(plan, *worst);
  double cost = 0;
  search::Scratch scratch;
  worst->plan_costs({1, compute, dims, {&collectives, 1}, work}, {&cost, 1}, scratch);
  check_close(cost, models.alone[0]->evaluate(plan).cost_ms);
}

BOOST_AUTO_TEST_CASE(what_all_models_know_is_known) {
  const Workload workload = some_tables(6);
  const Three models(workload);
  const Capabilities networks = capabilities(models.models[0]);
  const Capabilities formula = capabilities(models.models[2]);
  BOOST_REQUIRE((networks.hot_rows && networks.row_splits == RowSplits::kAny));
  const Capabilities all = capabilities(models.all);
  BOOST_TEST((all.row_splits == formula.row_splits && all.replicas && !all.hot_rows));
  BOOST_TEST((!all.additive && !all.host_memory && !all.hosts));
  BOOST_TEST(all.trained_host_devices == networks.trained_host_devices);
  BOOST_TEST(all.row_parts == std::min(networks.row_parts, formula.row_parts));
  BOOST_TEST((all.exchange == networks.exchange));
  CostModels two;
  two.worst_of = {{&models.models[0]}, {&models.models[1]}};
  BOOST_TEST((capabilities(two).hot_rows && capabilities(two).row_splits == RowSplits::kAny));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
