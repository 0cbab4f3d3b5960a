#include "engine/ground_truth/measure.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"
#include "tests/ground_truth/two_tables.h"
#include "tests/support/kernels.h"

namespace neuroshard {
namespace {

/// Costs that follow from the request, and a record of what was asked.
class FakeTruth final : public GroundTruth {
 public:
  [[nodiscard]] io::Backend backend() const override { return io::Backend::kCpu; }
  [[nodiscard]] const std::string& hardware() const override { return text_; }
  [[nodiscard]] const std::string& profile() const override { return text_; }
  Result<ComputeTime> measure_compute(const Workload&, std::span<const Shard> shards) override {
    double dims = 0;
    for (const Shard& shard : shards) dims += shard.dim();
    return ComputeTime{dims, dims / 4, dims * 3 / 4};
  }
  Result<CommTime> measure_all_to_all(std::span<const std::int64_t> dims,
                                      std::span<const double> starts, std::int64_t) override {
    starts_.emplace_back(starts.begin(), starts.end());
    CommTime time;
    for (const std::int64_t dim : dims) {
      time.forward_ms.push_back(100 + static_cast<double>(dim));
      time.backward_ms.push_back(static_cast<double>(dim) / 2);
    }
    return time;
  }
  std::vector<std::vector<double>> starts_;

 private:
  std::string text_ = "fake";
};

}  // namespace

BOOST_AUTO_TEST_SUITE(measure)

BOOST_AUTO_TEST_CASE(forward_exchanges_start_when_lookup_and_backward_let_them) {
  const Workload workload = test::two_tables();
  FakeTruth truth;
  MeasureOptions options;
  options.measure_comm = true;
  const auto measured = measure_plan(truth, workload, test::one_table_a_device(workload), options);
  BOOST_REQUIRE(measured.ok());
  BOOST_TEST(measured->comm_measured);
  const DeviceCost& first = measured->cost.per_device[0];
  BOOST_TEST(first.compute_ms == 16);
  BOOST_TEST(first.backward_comm_ms == 8);
  BOOST_TEST(first.forward_comm_ms == 116);
  BOOST_TEST(first.dim_sum == 16);
  BOOST_TEST(first.memory_bytes == 1000 * 16 * 4);
  BOOST_TEST(measured->cost.cost_ms == 16 + 8 + 116);
  BOOST_TEST(measured->compute[1].forward_ms == 2);
  // 16 + 8 and 8 + 4, less the least of them.
  const std::vector<std::vector<double>> expected{{0, 0}, {12, 0}};
  BOOST_TEST((truth.starts_ == expected));
}

BOOST_AUTO_TEST_CASE(without_devices_for_it_communication_comes_from_the_models) {
  const Workload workload = test::two_tables();
  const Plan plan = test::one_table_a_device(workload);
  const auto models = load_cost_models("h200_sim");
  BOOST_REQUIRE(models.ok());
  FakeTruth truth;
  MeasureOptions options;
  options.models = &models->models;
  const auto measured = measure_plan(truth, workload, plan, options);
  BOOST_REQUIRE_MESSAGE(measured.ok(), measured.status().message());
  BOOST_TEST(!measured->comm_measured);
  BOOST_TEST(truth.starts_.empty());
  // The backward exchange depends on dims alone, so it is what the models say of the plan.
  const auto simulated = simulate(workload, plan, models->models);
  BOOST_REQUIRE(simulated.ok());
  for (std::size_t d = 0; d < 2; ++d) {
    const DeviceCost& device = measured->cost.per_device[d];
    BOOST_TEST(device.backward_comm_ms == simulated->per_device[d].backward_comm_ms,
               boost::test_tools::tolerance(1e-6));
    BOOST_TEST((std::isfinite(device.forward_comm_ms)));
  }
}

BOOST_AUTO_TEST_CASE(plans_that_cannot_be_measured_are_errors) {
  const Workload workload = test::two_tables();
  FakeTruth truth;
  Plan plan = test::one_table_a_device(workload);
  BOOST_TEST(!measure_plan(truth, workload, plan, {}).ok());  // neither exchanges nor models
  const auto formula = load_cost_models("torchrec");
  BOOST_REQUIRE(formula.ok());
  MeasureOptions predicted;
  predicted.models = &formula->models;
  BOOST_TEST(measure_plan(truth, workload, plan, predicted).status().message() ==
             "communication needs cost models with communication networks");
  MeasureOptions options;
  options.measure_comm = true;
  plan.shards[1].device = kEveryDevice;
  BOOST_TEST(
      (measure_plan(truth, workload, plan, options).status().code() == StatusCode::kInvalidInput));
  plan = test::one_table_a_device(workload);
  BOOST_TEST(measure_plan(truth, workload, plan, options).ok());
  test::set_offloaded(plan, {{1, {ComputeKernel::kFusedUvm, 0}}});
  const Status refused = measure_plan(truth, workload, plan, options).status();
  BOOST_TEST((refused.code() == StatusCode::kInvalidInput));
  BOOST_TEST(refused.message() ==
             "offloaded: table 1 is in host memory: kernels are measured with all weights on the "
             "devices");
  test::set_offloaded(plan, {});
  plan.shards.pop_back();
  BOOST_TEST(!measure_plan(truth, workload, plan, options).ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
