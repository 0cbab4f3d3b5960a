// Networks whose costs are of whole training steps: a dense part beside the tables.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <vector>

#include "engine/cost_model/make_evaluator.h"
#include "engine/cost_model/mlp_evaluator.h"
#include "engine/cost_model/shipped_models.h"
#include "search/plan_cost.h"
#include "tests/cost_model/random_models.h"

namespace neuroshard {
namespace {

class FixedDensePart final : public DensePart {
 public:
  explicit FixedDensePart(const DenseTime& time) : time_(time) {}
  [[nodiscard]] Result<DenseTime> time(const Workload&, std::int32_t, std::int32_t) const override {
    return time_;
  }
  [[nodiscard]] CostError error() const override { return {0.5, "a guess"}; }
  [[nodiscard]] const DenseOrigin& origin() const override { return origin_; }

 private:
  DenseTime time_;
  DenseOrigin origin_{"dense.json", "sha", "some"};
};

/// Of devices that enter the forward exchange at once, as those of steps do.
std::vector<float> forward_together(const CostModels& models, const Workload& workload,
                                    const Plan& plan, MlpEvaluator& evaluator) {
  const search::PlacedPlan placed = search::place(plan, evaluator);
  std::vector<float> backward(placed.compute_ms.size());
  std::vector<float> forward(backward.size());
  CommBatch batch{1,
                  plan.devices,
                  placed.compute_ms.data(),
                  placed.dim_sums.data(),
                  backward.data(),
                  forward.data()};
  batch.together = true;
  const CommPredictor comm(*models.comm, workload.batch_size,
                           nn::inference_kernels(nn::Isa::kScalar));
  AlignedVector<float> scratch(comm.scratch_size(batch));
  comm.predict(batch, scratch.data());
  return forward;
}

CostModels with_dense(CostModels models, const DenseTime& time) {
  models.dense = std::make_shared<FixedDensePart>(time);
  return models;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(step_costs)

BOOST_AUTO_TEST_CASE(a_step_is_lookups_and_the_longer_of_exchange_and_dense_part) {
  Rng rng(3);
  for (int round = 0; round < 20; ++round) {
    const auto devices = static_cast<std::int32_t>(rng.between(2, 9));
    const CostModels alone = test::random_models(devices, rng);
    const Workload workload = test::random_workload(rng.between(1, 20), rng);
    const DenseTime dense{rng.uniform(), rng.uniform(), rng.uniform()};
    const CostModels steps = with_dense(alone, dense);
    const Plan plan = test::random_plan(workload, devices, rng);
    const auto embedding = MlpEvaluator::create(alone, workload, devices, nn::Isa::kScalar).value();
    const auto step = MlpEvaluator::create(steps, workload, devices, nn::Isa::kScalar).value();
    const PlanCost base = embedding->evaluate(plan);
    const PlanCost found = step->evaluate(plan);
    const std::vector<float> forward = forward_together(alone, workload, plan, *embedding);
    double largest = -1e300;
    for (std::size_t d = 0; d < base.per_device.size(); ++d) {
      const DeviceCost& own = base.per_device[d];
      // Random networks say that some lookups take less than no time, which no step has.
      const double expected =
          std::max(0.0, own.compute_ms) + std::max<double>(forward[d], dense.beside_forward_ms) +
          std::max(own.backward_comm_ms, dense.beside_backward_ms) + dense.rest_ms;
      BOOST_TEST(found.per_device[d].total_ms() == expected, boost::test_tools::tolerance(1e-6));
      largest = std::max(largest, found.per_device[d].total_ms());
    }
    BOOST_TEST(found.cost_ms == largest, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(are_of_steps(found.per_device));
    BOOST_TEST(!are_of_steps(base.per_device));
  }
}

BOOST_AUTO_TEST_CASE(searches_see_the_same_steps) {
  Rng rng(4);
  for (int round = 0; round < 10; ++round) {
    const auto devices = static_cast<std::int32_t>(rng.between(2, 9));
    const CostModels steps = with_dense(test::random_models(devices, rng),
                                        {rng.uniform(), rng.uniform(), rng.uniform()});
    const Workload workload = test::random_workload(12, rng);
    const Plan plan = test::random_plan(workload, devices, rng);
    const auto evaluator = MlpEvaluator::create(steps, workload, devices, nn::Isa::kScalar).value();
    const double expected = evaluator->evaluate(plan).cost_ms;
    const auto [compute, dims, collectives, work] = search::place(plan, *evaluator);
    const search::PlanBatch batch{1, compute, dims, {&collectives, 1}, work};
    search::Scratch scratch;
    double cost = 0;
    evaluator->plan_costs(batch, {&cost, 1}, scratch);
    BOOST_TEST(cost == expected, boost::test_tools::tolerance(1e-12));
    std::vector<double> ready(compute.size());
    std::vector<double> total(compute.size());
    evaluator->plan_details(batch, {ready, total}, scratch);
    BOOST_TEST(*std::max_element(total.begin(), total.end()) == cost);
    for (std::size_t d = 0; d < total.size(); ++d) BOOST_TEST(ready[d] <= total[d] + 1e-9);
  }
}

BOOST_AUTO_TEST_CASE(formulas_that_add_everything_up_are_refused) {
  const CostModels formula = with_dense(load_cost_models("torchrec").value().models, {1, 1, 1});
  Rng rng(5);
  const Workload workload = test::random_workload(4, rng);
  const Status refused = make_evaluator(formula, workload, 2).status();
  BOOST_TEST(refused.message().find("adds up all that a device does") != std::string::npos,
             refused.message());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
