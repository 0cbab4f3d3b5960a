// Evaluations say of a model what the engine makes of it.
#include "engine/training/evaluate.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "engine/cost_model/compute_predictor.h"
#include "engine/training/inputs.h"
#include "engine/training/train.h"
#include "nn/inference.h"
#include "tests/training/samples.h"

namespace neuroshard {
namespace {

// Wide tables come to infinity less infinity: at the end, or in the encoder.
ComputeModel overflowing(bool early) {
  ComputeModel model;
  model.features = FeatureSet::parse("dim").value();
  model.scaling = {{0.0f}, {1.0f}};
  model.table = nn::Mlp({{1, 2, nn::Activation::kRelu}, {2, 1, nn::Activation::kRelu}});
  model.head = nn::Mlp({{1, 2, nn::Activation::kRelu}, {2, 1, nn::Activation::kNone}});
  for (nn::Mlp* mlp : {&model.table, &model.head}) {
    for (const std::size_t k : {0, 1}) {
      std::fill(mlp->weight(k).begin(), mlp->weight(k).end(), 1.0f);
    }
  }
  std::fill(model.table.weight(0).begin(), model.table.weight(0).end(), 2e37f);
  (early ? model.table : model.head).weight(1)[1] = -1.0f;
  return model;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(evaluate)

BOOST_AUTO_TEST_CASE(costs_that_are_no_number_are_infinite_as_for_the_search) {
  ComputeDataset data = test::made_up_compute(0, 1);
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(data.pool.size()); ++id) {
    data.samples.push_back({{id}, 1.0 + id});
  }
  const Workload workload{data.pool, data.batch_size};
  for (const bool early : {false, true}) {
    const ComputeModel model = overflowing(early);
    const std::vector<double> costs = *predict_compute(model, data, all_ids(data.samples.size()));
    ComputePredictor predictor(model, workload, 1, nn::inference_kernels(nn::Isa::kScalar));
    int infinite = 0;
    for (std::size_t k = 0; k < costs.size(); ++k) {
      const Table& table = data.pool[k];
      const ShardShape whole{static_cast<std::int32_t>(k), table.rows, table.dim};
      std::int32_t shape = 0;
      predictor.intern_all({&whole, 1}, {&shape, 1});
      BOOST_TEST(costs[k] == predictor.shape_cost(shape));
      infinite += std::isinf(costs[k]);
    }
    BOOST_TEST(infinite > 0);
    BOOST_TEST(infinite < 60);
    const Metrics metrics = *evaluate_compute(model, {&data, 1});
    BOOST_TEST(std::isinf(metrics.mse));
    BOOST_TEST(std::isinf(metrics.mape));
  }
}

BOOST_AUTO_TEST_CASE(one_device_exchanges_nothing_as_for_the_search) {
  CommTrainOptions options = default_comm_options();
  options.hidden_widths = {8};
  options.fit.epochs = 2;
  const CommDataset many = test::made_up_comm(40, 4, 1);
  const CommModels models = train_comm({&many, 1}, options, {})->models;
  CommDataset alone;
  alone.samples.push_back({{64}, {0}, {0}, {0}});
  alone.samples.push_back({{128}, {0}, {0.5}, {0.25}});
  const CommMetrics metrics = *evaluate_comm(models, {&alone, 1});
  BOOST_TEST(metrics.forward.mse == 0.125);
  BOOST_TEST(metrics.backward.mse == 0.03125);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
