// Calibration: a few measurements of other hardware make a trained network right there, and its
// error is that of samples it has not seen.
#include "engine/training/calibrate.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "engine/cost_model/validate_models.h"
#include "engine/training/evaluate.h"
#include "engine/training/inputs.h"
#include "tests/training/samples.h"

namespace neuroshard {
namespace {

ComputeTrainOptions quick_pretraining() {
  ComputeTrainOptions options = default_compute_options();
  options.table_widths = {24, 8};
  options.head_widths = {12};
  options.fit.epochs = 80;
  options.fit.learning_rate = 1e-2;
  options.fit.members = 1;
  return options;
}

CalibrateOptions quick_calibration() {
  CalibrateOptions options = default_calibrate_options();
  options.fit.epochs = 60;
  return options;
}

/// The same law on hardware that is three times as slow, and slower again with every table.
ComputeDataset other_hardware(int samples, std::uint64_t seed) {
  ComputeDataset data = test::made_up_compute(samples, seed);
  for (io::ComputeSample& sample : data.samples) {
    sample.cost_ms = 3 * sample.cost_ms + 0.4 * static_cast<double>(sample.tables.size());
  }
  return data;
}

double mse_of(const ComputeModel& model, const ComputeDataset& data) {
  return evaluate_compute(model, {&data, 1}).value().mse;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(calibrate)

BOOST_AUTO_TEST_CASE(few_samples_on_top_of_a_base_beat_many_from_scratch) {
  const ComputeDataset base_data = test::made_up_compute(2000, 1);
  const ComputeModel base = train_compute({&base_data, 1}, quick_pretraining(), {}).value().model;
  const ComputeDataset few = other_hardware(60, 2);
  const ComputeDataset unseen = other_hardware(400, 3);
  const ComputeCalibration found =
      calibrate_compute(base, {&few, 1}, quick_calibration(), {}).value();
  BOOST_TEST(validate(found.model).ok());
  BOOST_TEST(found.report.before.mse > 100 * found.report.after.mse);
  const ComputeModel scratch = train_compute({&few, 1}, quick_pretraining(), {}).value().model;
  BOOST_TEST(mse_of(found.model, unseen) < mse_of(scratch, unseen));
  // The folds' networks side by side.
  BOOST_TEST(found.model.table.outputs() == quick_calibration().folds * base.table.outputs());
  // What it says of its error holds for what nobody has seen.
  BOOST_REQUIRE(found.model.error.has_value());
  BOOST_TEST(found.model.error->samples == 60);
  const Metrics metrics = evaluate_compute(found.model, {&unseen, 1}).value();
  BOOST_TEST(metrics.interval == found.model.error->share);
  BOOST_TEST(metrics.coverage > 0.8);
}

BOOST_AUTO_TEST_CASE(the_same_arguments_give_the_same_model) {
  const ComputeDataset base_data = test::made_up_compute(300, 1);
  ComputeTrainOptions quick = quick_pretraining();
  quick.fit.epochs = 5;
  const ComputeModel base = train_compute({&base_data, 1}, quick, {}).value().model;
  const ComputeDataset few = other_hardware(40, 2);
  CalibrateOptions options = quick_calibration();
  options.fit.epochs = 5;
  TrainControl three;
  three.threads = 3;
  const ComputeModel one = calibrate_compute(base, {&few, 1}, options, {}).value().model;
  const ComputeModel other = calibrate_compute(base, {&few, 1}, options, three).value().model;
  BOOST_TEST(std::ranges::equal(one.head.parameters(), other.head.parameters()));
  BOOST_TEST(std::ranges::equal(one.table.parameters(), other.table.parameters()));
}

// Whoever measures, calibrates and measures again would otherwise have a model four times as wide
// each time.
BOOST_AUTO_TEST_CASE(a_model_that_is_calibrated_again_stays_as_wide) {
  const ComputeDataset base_data = test::made_up_compute(300, 1);
  const ComputeModel base = train_compute({&base_data, 1}, quick_pretraining(), {}).value().model;
  CalibrateOptions options = quick_calibration();
  options.fit.epochs = 20;
  ComputeModel model = base;
  for (std::uint64_t seed = 2; seed < 5; ++seed) {
    const ComputeDataset few = other_hardware(60, seed);
    const ComputeCalibration found = calibrate_compute(model, {&few, 1}, options, {}).value();
    BOOST_TEST(found.report.epochs > 0);
    BOOST_TEST(found.report.after.mse <= found.report.before.mse);
    model = found.model;
    BOOST_TEST(model.table.outputs() == options.folds * base.table.outputs());
  }
}

BOOST_AUTO_TEST_CASE(exchanges_that_are_calibrated_again_stay_as_wide) {
  const CommDataset base_data = test::made_up_comm(200, 4, 1);
  CommTrainOptions quick = default_comm_options();
  quick.hidden_widths = {32, 16};
  quick.fit.epochs = 20;
  const CommModels base = train_comm({&base_data, 1}, quick, {}).value().models;
  CalibrateOptions options = quick_calibration();
  options.fit.epochs = 20;
  CommModels models = base;
  for (std::uint64_t seed = 2; seed < 4; ++seed) {
    const CommDataset few = test::made_up_comm(40, 4, seed);
    const CommCalibration found = calibrate_comm(models, {&few, 1}, options, {}).value();
    BOOST_TEST(found.forward.epochs > 0);
    models = found.models;
    BOOST_TEST(models.forward.mlp.layer(0).outputs == options.folds * 32);
  }
}

BOOST_AUTO_TEST_CASE(where_nothing_is_left_to_learn_the_base_stays_one_network) {
  const ComputeDataset base_data = test::made_up_compute(300, 1);
  const ComputeModel base = train_compute({&base_data, 1}, quick_pretraining(), {}).value().model;
  ComputeDataset few = test::made_up_compute(60, 2);
  const std::vector<double> says = predict_compute(base, few, all_ids(few.samples.size())).value();
  for (std::size_t k = 0; k < says.size(); ++k) few.samples[k].cost_ms = 2 * says[k] + 1;
  const ComputeCalibration found =
      calibrate_compute(base, {&few, 1}, quick_calibration(), {}).value();
  BOOST_TEST(found.report.epochs == 0);
  BOOST_TEST(found.model.table.outputs() == base.table.outputs());
  BOOST_TEST(found.report.after.mape < 1e-5);
  BOOST_TEST(evaluate_compute(found.model, {&few, 1}).value().mape < 1e-4);
}

BOOST_AUTO_TEST_CASE(exchanges_are_calibrated_in_both_directions) {
  const CommDataset base_data = test::made_up_comm(400, 4, 1);
  CommTrainOptions quick = default_comm_options();
  quick.hidden_widths = {32, 16};
  quick.fit.epochs = 60;
  quick.fit.learning_rate = 5e-3;
  const CommModels base = train_comm({&base_data, 1}, quick, {}).value().models;
  CommDataset few = test::made_up_comm(40, 4, 2);
  CommDataset unseen = test::made_up_comm(200, 4, 3);
  for (CommDataset* data : {&few, &unseen}) {
    for (io::CommSample& sample : data->samples) {
      for (double& ms : sample.forward_ms) ms *= 2;
      for (double& ms : sample.backward_ms) ms *= 3;
    }
  }
  const CommCalibration found = calibrate_comm(base, {&few, 1}, quick_calibration(), {}).value();
  BOOST_TEST(validate(found.models).ok());
  const CommMetrics before = evaluate_comm(base, {&unseen, 1}).value();
  const CommMetrics after = evaluate_comm(found.models, {&unseen, 1}).value();
  BOOST_TEST(after.forward.mse < before.forward.mse / 10);
  BOOST_TEST(after.backward.mse < before.backward.mse / 10);
  BOOST_TEST(found.models.forward.error.has_value());
  BOOST_TEST(found.models.backward.error.has_value());
}

BOOST_AUTO_TEST_CASE(what_says_too_little_is_refused) {
  const ComputeDataset base_data = test::made_up_compute(300, 1);
  ComputeTrainOptions quick = quick_pretraining();
  quick.fit.epochs = 1;
  const ComputeModel base = train_compute({&base_data, 1}, quick, {}).value().model;
  const ComputeDataset few = other_hardware(19, 2);
  const Status refused = calibrate_compute(base, {&few, 1}, quick_calibration(), {}).status();
  BOOST_TEST((refused.code() == StatusCode::kInvalidInput));
  BOOST_TEST(refused.message().find("found 19, expected at least 20") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
