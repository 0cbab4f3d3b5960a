// Incremental evaluation against full evaluation in double, and what models must fit to.
#include "engine/cost_model/mlp_evaluator.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "tests/cost_model/full_evaluation.h"
#include "tests/cost_model/random_models.h"
#include "tests/cost_model/reference_results.h"

namespace neuroshard {
namespace {

std::vector<nn::Isa> usable() {
  std::vector<nn::Isa> isas;
  for (const nn::IsaInfo& info : nn::isa_list()) {
    if (info.supported()) isas.push_back(info.isa);
  }
  return isas;
}

void check_close(double found, double expected, const std::string& what) {
  BOOST_TEST(std::abs(found - expected) <= 2e-5 * (1 + std::abs(expected)),
             what << ": " << found << " for " << expected);
}

void check_plans(const CostModels& models, const Workload& workload, std::int32_t devices, Rng& rng,
                 int plans) {
  const test::FullEvaluation full(models, workload);
  for (const nn::Isa isa : usable()) {
    const auto evaluator = MlpEvaluator::create(models, workload, devices, isa).value();
    for (int k = 0; k < plans; ++k) {
      const Plan plan = test::random_plan(workload, devices, rng);
      BOOST_REQUIRE(validate(workload, plan).ok());
      const PlanCost found = evaluator->evaluate(plan);
      const PlanCost expected = full.evaluate(plan);
      check_close(found.cost_ms, expected.cost_ms, "cost");
      for (std::size_t d = 0; d < found.per_device.size(); ++d) {
        const DeviceCost& have = found.per_device[d];
        const DeviceCost& want = expected.per_device[d];
        check_close(have.compute_ms, want.compute_ms, "compute");
        check_close(have.backward_comm_ms, want.backward_comm_ms, "backward");
        check_close(have.forward_comm_ms, want.forward_comm_ms, "forward");
        BOOST_TEST(have.dim_sum == want.dim_sum);
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mlp_evaluator)

BOOST_AUTO_TEST_CASE(incremental_is_full_evaluation_on_random_networks) {
  Rng rng(1);
  for (int network = 0; network < 12; ++network) {
    const auto devices = static_cast<std::int32_t>(rng.between(1, 9));
    CostModels models = test::random_models(devices, rng);
    if (network % 3 == 2) {
      models.compute->target = CostTarget::kLogMilliseconds;
      models.comm->forward.target = CostTarget::kLogMilliseconds;
      models.comm->backward.target = CostTarget::kLogMilliseconds;
    }
    // Few tables on many devices leave some empty: those cost head(0).
    const Workload workload = test::random_workload(rng.between(1, 20), rng);
    check_plans(models, workload, devices, rng, 5);
  }
}

BOOST_AUTO_TEST_CASE(one_pooled_network_serves_any_number_of_devices) {
  Rng rng(6);
  const CostModels models = test::random_pooled_models(rng);
  for (const std::int32_t devices : {1, 2, 3, 16, 40}) {
    const Workload workload = test::random_workload(20, rng);
    check_plans(models, workload, devices, rng, 3);
    // Devices are alike to it: naming them in another order changes no cost.
    const auto evaluator =
        MlpEvaluator::create(models, workload, devices, nn::Isa::kScalar).value();
    Plan plan = test::random_plan(workload, devices, rng);
    const double cost = evaluator->evaluate(plan).cost_ms;
    for (Shard& shard : plan.shards) shard.device = devices - 1 - shard.device;
    check_close(evaluator->evaluate(plan).cost_ms, cost, "renamed devices");
  }
}

BOOST_AUTO_TEST_CASE(one_device_exchanges_nothing_whoever_asks) {
  Rng rng(9);
  const Workload workload = test::random_workload(5, rng);
  CostModels models = test::random_pooled_models(rng);
  for (const CostTarget target : {CostTarget::kMilliseconds, CostTarget::kLogMilliseconds}) {
    models.comm->forward.target = models.comm->backward.target = target;
    for (const nn::Isa isa : usable()) {
      const auto evaluator = MlpEvaluator::create(models, workload, 1, isa).value();
      const DeviceCost alone =
          evaluator->evaluate(test::random_plan(workload, 1, rng)).per_device[0];
      BOOST_TEST(alone.forward_comm_ms == 0);
      BOOST_TEST(alone.backward_comm_ms == 0);
      const std::vector<float> compute{3, 0.5f, 7};
      const std::vector<std::int64_t> dims{64, 0, 900};
      const std::vector<double> expected(compute.begin(), compute.end());
      std::vector<double> costs(3), ready(3), total(3);
      search::Scratch scratch;
      evaluator->plan_costs({3, compute, dims}, costs, scratch);
      evaluator->plan_details({3, compute, dims}, {ready, total}, scratch);
      BOOST_TEST(costs == expected);
      BOOST_TEST(ready == expected);
      BOOST_TEST(total == expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(incremental_is_full_evaluation_on_the_reference_networks) {
  Rng rng(2);
  for (const std::int32_t devices : {4, 8}) {
    const auto run = test::reference_run(devices);
    if (!run) {
      BOOST_TEST_MESSAGE("reference data is not there: skipped");
      return;
    }
    for (std::size_t index = 0; index < 6; ++index) {
      check_plans(run->models, run->tasks[index].workload, devices, rng, 5);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_batch_costs_what_its_plans_cost_alone) {
  Rng rng(3);
  const Workload workload = test::random_workload(10, rng);
  for (int round = 0; round < 2 * static_cast<int>(usable().size()); ++round) {
    const CostModels models =
        round % 2 == 0 ? test::random_models(5, rng) : test::random_pooled_models(rng);
    const nn::Isa isa = usable()[static_cast<std::size_t>(round / 2) % usable().size()];
    const auto evaluator = MlpEvaluator::create(models, workload, 5, isa).value();
    std::vector<float> compute(55);
    std::vector<std::int64_t> dims(55);
    for (float& value : compute) value = static_cast<float>(10 * rng.uniform());
    for (std::int64_t& value : dims) value = rng.between(0, 500);
    std::vector<double> together(11);
    search::Scratch scratch;
    evaluator->plan_costs({11, compute, dims}, together, scratch);
    for (std::size_t plan = 0; plan < 11; ++plan) {
      double alone = 0;
      evaluator->plan_costs(
          {1, std::span(compute).subspan(5 * plan, 5), std::span(dims).subspan(5 * plan, 5)},
          {&alone, 1}, scratch);
      BOOST_TEST(alone == together[plan]);  // to the bit: batching must not change a decision
    }
  }
}

BOOST_AUTO_TEST_CASE(devices_that_share_their_dims_cost_what_they_cost_apart) {
  Rng rng(10);
  const Workload workload = test::random_workload(5, rng);
  const CostModels models = test::random_pooled_models(rng);
  for (const nn::Isa isa : usable()) {
    for (const std::size_t devices : {2, 7, 64, 130}) {
      const auto evaluator =
          MlpEvaluator::create(models, workload, static_cast<std::int32_t>(devices), isa).value();
      std::vector<float> compute(3 * devices);
      std::vector<std::int64_t> dims(3 * devices);
      for (float& value : compute) value = static_cast<float>(10 * rng.uniform());
      for (std::int64_t& value : dims) value = 16 * rng.between(0, 9);
      std::vector<double> ready(compute.size());
      std::vector<double> total(compute.size());
      search::Scratch scratch;
      evaluator->plan_details({3, compute, dims}, {ready, total}, scratch);
      for (std::size_t plan = 0; plan < 3; ++plan) {
        const auto begin = dims.begin() + static_cast<std::ptrdiff_t>(plan * devices);
        const std::vector<double> expected =
            test::FullEvaluation(models, workload)
                .backward({begin, begin + static_cast<std::ptrdiff_t>(devices)});
        for (std::size_t d = 0; d < devices; ++d) {
          const std::size_t at = plan * devices + d;
          check_close(ready[at] - static_cast<double>(compute[at]), expected[d], "backward");
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(details_are_the_parts_of_the_cost) {
  Rng rng(7);
  const Workload workload = test::random_workload(12, rng);
  for (const bool pooled : {false, true}) {
    const CostModels models =
        pooled ? test::random_pooled_models(rng) : test::random_models(6, rng);
    const auto evaluator = MlpEvaluator::create(models, workload, 6, usable().back()).value();
    BOOST_TEST(evaluator->devices_alike() == pooled);
    const PlanCost expected = evaluator->evaluate(test::random_plan(workload, 6, rng));
    std::vector<float> compute;
    std::vector<std::int64_t> dims;
    for (const DeviceCost& device : expected.per_device) {
      compute.push_back(static_cast<float>(device.compute_ms));
      dims.push_back(device.dim_sum);
    }
    std::vector<double> ready(6);
    std::vector<double> total(6);
    search::Scratch scratch;
    evaluator->plan_details({1, compute, dims}, {ready, total}, scratch);
    for (std::size_t d = 0; d < 6; ++d) {
      const DeviceCost& device = expected.per_device[d];
      check_close(ready[d], device.compute_ms + device.backward_comm_ms, "ready");
      check_close(total[d], device.total_ms(), "total");
    }
    double cost = 0;
    evaluator->plan_costs({1, compute, dims}, {&cost, 1}, scratch);
    BOOST_TEST(*std::max_element(total.begin(), total.end()) == cost);  // to the bit
  }
}

BOOST_AUTO_TEST_CASE(sums_of_addends_cost_what_placing_costs) {
  Rng rng(8);
  const Workload workload = test::random_workload(40, rng);
  for (const nn::Isa isa : usable()) {
    CostModels models = test::random_models(2, rng);
    if (rng.below(2) == 0) models.compute->target = CostTarget::kLogMilliseconds;
    const auto evaluator = MlpEvaluator::create(models, workload, 2, isa).value();
    std::vector<search::ShapeId> shapes;
    for (std::int32_t table = 0; table < 40; ++table) {
      const Table& whole = workload.tables[static_cast<std::size_t>(table)];
      shapes.push_back(evaluator->intern({table, whole.rows, whole.dim}));
    }
    AlignedVector<float> cleared(evaluator->state_size());
    evaluator->clear(cleared.data());
    AlignedVector<float> state = cleared;
    std::vector<const float*> parts{cleared.data()};
    BOOST_TEST(evaluator->cost_of_sum(parts) == evaluator->empty_cost());
    for (const search::ShapeId shape : shapes) {
      parts.push_back(evaluator->addend(shape));
      check_close(evaluator->cost_of_sum(parts), evaluator->place(shape, state.data()), "sum");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_shard_against_all_devices_costs_what_placing_it_costs) {
  Rng rng(9);
  const Workload workload = test::random_workload(30, rng);
  for (const nn::Isa isa : usable()) {
    for (const std::size_t devices : {1, 2, 3, 4, 8, 21, 128}) {
      CostModels models = test::random_models(2, rng);
      if (rng.below(2) == 0) models.compute->target = CostTarget::kLogMilliseconds;
      const auto evaluator = MlpEvaluator::create(models, workload, 2, isa).value();
      const std::size_t size = evaluator->state_size();
      AlignedVector<float> states(devices * size);
      for (std::size_t d = 0; d < devices; ++d) evaluator->clear(states.data() + d * size);
      std::vector<float> costs(devices);
      for (std::int32_t table = 0; table < 30; ++table) {
        const Table& whole = workload.tables[static_cast<std::size_t>(table)];
        const search::ShapeId shape = evaluator->intern({table, whole.rows, whole.dim});
        const AlignedVector<float> before = states;
        evaluator->costs_with(shape, states, costs);
        BOOST_TEST((states == before));
        for (std::size_t d = 0; d < devices; ++d) {
          AlignedVector<float> state(before.begin() + static_cast<std::ptrdiff_t>(d * size),
                                     before.begin() + static_cast<std::ptrdiff_t>((d + 1) * size));
          check_close(costs[d], evaluator->place(shape, state.data()), "with");
        }
        evaluator->place(shape, states.data() + rng.below(devices) * size);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(shapes_interned_at_once_are_those_interned_one_by_one) {
  Rng rng(11);
  for (const nn::Isa isa : usable()) {
    for (int round = 0; round < 6; ++round) {
      const Workload workload = test::random_workload(15, rng);
      CostModels models = test::random_models(2, rng);
      if (rng.below(2) == 0) models.compute->target = CostTarget::kLogMilliseconds;
      const auto apart = MlpEvaluator::create(models, workload, 2, isa).value();
      const auto together = MlpEvaluator::create(models, workload, 2, isa).value();
      const std::size_t size = apart->state_size();
      AlignedVector<float> states(3 * size);
      for (float& value : states) value = static_cast<float>(rng.normal());
      // Some shapes several times, within a call and in a later one; no shape at all, too.
      for (const std::int64_t count : {rng.between(1, 150), std::int64_t{0}, rng.between(1, 150)}) {
        std::vector<ShardShape> shapes;
        for (std::int64_t k = 0; k < count; ++k) {
          shapes.push_back({static_cast<std::int32_t>(rng.below(15)), 100 * rng.between(1, 3),
                            static_cast<std::int32_t>(4 * rng.between(1, 4))});
        }
        const std::vector<search::ShapeId> ids = together->intern_all(shapes);
        for (std::size_t k = 0; k < shapes.size(); ++k) {
          const search::ShapeId id = apart->intern(shapes[k]);
          BOOST_REQUIRE(ids[k] == id);
          BOOST_TEST(together->intern(shapes[k]) == id);
          BOOST_TEST(together->shape_cost(id) == apart->shape_cost(id));
          BOOST_TEST(
              std::equal(together->addend(id), together->addend(id) + size, apart->addend(id)));
          std::vector<float> found(3);
          std::vector<float> expected(3);
          together->costs_with(id, states, found);
          apart->costs_with(id, states, expected);
          BOOST_TEST(found == expected);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(networks_that_overflow_cost_infinity_never_nan) {
  Rng rng(4);
  CostModels models = test::random_models(2, rng);
  for (float& weight : models.compute->head.parameters()) weight *= 1e38f;
  for (float& weight : models.comm->forward.mlp.parameters()) weight *= 1e38f;
  const Workload workload = test::random_workload(6, rng);
  for (const nn::Isa isa : usable()) {
    const auto evaluator = MlpEvaluator::create(models, workload, 2, isa).value();
    for (int k = 0; k < 20; ++k) {
      const PlanCost cost = evaluator->evaluate(test::random_plan(workload, 2, rng));
      BOOST_TEST(!std::isnan(cost.cost_ms));
    }
  }
}

BOOST_AUTO_TEST_CASE(models_that_do_not_fit_are_refused) {
  Rng rng(5);
  const CostModels good = test::random_models(4, rng);
  const Workload workload = test::random_workload(3, rng);
  const auto message = [&](const CostModels& models, const Workload& load, std::int32_t devices) {
    const auto result = MlpEvaluator::create(models, load, devices, nn::Isa::kScalar);
    return result.ok() ? std::string("accepted") : result.status().message();
  };
  BOOST_TEST(message(good, workload, 4) == "accepted");
  BOOST_TEST(message(good, workload, 8) ==
             "the cost models are for 4 devices only (fixed-devices-mlp), found 8");
  Workload other_batch = workload;
  other_batch.batch_size = 4096;
  BOOST_TEST(message(good, other_batch, 4) ==
             "the cost models are for batch size 65536, found 4096");
  CostModels range = good;
  range.min_batch_size = 4096;
  BOOST_TEST(message(range, other_batch, 4) == "accepted");
  other_batch.batch_size = 4095;
  BOOST_TEST(message(range, other_batch, 4) ==
             "the cost models are for batch sizes 4096 to 65536, found 4095");
  CostModels half = good;
  half.compute.reset();
  BOOST_TEST(message(half, workload, 4).find("no compute half") != std::string::npos);
  half = good;
  half.comm.reset();
  BOOST_TEST(message(half, workload, 4).find("no communication half") != std::string::npos);
  half.source = "mine.safetensors";
  BOOST_TEST(
      message(half, workload, 4).starts_with("mine.safetensors: the cost models have no comm"));
  CostModels broken = good;
  broken.compute->scaling.std[3] = 0;
  BOOST_TEST(message(broken, workload, 4) ==
             "cost models: compute.feature_std: value 3 is 0.000000, expected above 0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
