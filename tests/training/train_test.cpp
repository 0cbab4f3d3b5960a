// Training jobs as a whole: they learn, repeat themselves to the bit, can be stopped, and say what
// is wrong with their input.
#include "engine/training/train.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "engine/cost_model/validate_models.h"
#include "engine/training/evaluate.h"
#include "tests/support/paths.h"
#include "tests/support/sanitized.h"
#include "tests/training/quick_comm.h"
#include "tests/training/samples.h"

namespace neuroshard {
namespace {

ComputeTrainOptions quick_compute() {
  ComputeTrainOptions options = default_compute_options();
  options.table_widths = {24, 8};
  options.head_widths = {12};
  options.fit.epochs = 60;
  options.fit.batch_size = 64;
  options.fit.learning_rate = 1e-2;
  options.fit.members = 1;
  options.fit.seed = 3;
  return options;
}

// Variance of the costs: what the best constant would reach as MSE.
double variance(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (const double v : values) squares += (v - mean) * (v - mean);
  return squares / static_cast<double>(values.size());
}

double compute_variance(const ComputeDataset& data) {
  std::vector<double> costs;
  for (const auto& sample : data.samples) costs.push_back(sample.cost_ms);
  return variance(costs);
}

std::vector<float> parameters(const ComputeModel& model) {
  std::vector<float> all(model.table.parameters().begin(), model.table.parameters().end());
  all.insert(all.end(), model.head.parameters().begin(), model.head.parameters().end());
  return all;
}

// Cancels itself at an epoch.
class Stopper : public ProgressSink {
 public:
  explicit Stopper(std::int64_t at) : at_(at) {}
  void update(std::string_view, std::int64_t done, std::int64_t, std::string_view unit) override {
    BOOST_TEST(unit == "epochs");
    if (done == at_) token.cancel();
    last = done;
  }
  CancelToken token;
  std::int64_t last = 0;

 private:
  std::int64_t at_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(train)

BOOST_AUTO_TEST_CASE(a_compute_model_learns_and_its_report_is_what_evaluation_says) {
  const ComputeDataset data = test::made_up_compute(600, 1);
  const auto training = train_compute({&data, 1}, quick_compute(), {});
  BOOST_REQUIRE_MESSAGE(training.ok(), training.status().message());
  BOOST_TEST(validate(training->model).ok());
  const TrainReport& report = training->report;
  BOOST_TEST(report.train_samples == 480);
  BOOST_TEST(report.validation_samples == 60);
  BOOST_TEST(report.test_samples == 60);
  BOOST_TEST(report.curve.size() == 60);
  BOOST_TEST(report.test.mse < compute_variance(data) / 20);
  BOOST_TEST(report.test.tau > 0.85);
  const Split split = *split_samples(600, 0.8, 0.1, 3);
  const std::vector<double> predicted = *predict_compute(training->model, data, split.test);
  std::vector<double> measured;
  for (const auto id : split.test) {
    measured.push_back(data.samples[static_cast<std::size_t>(id)].cost_ms);
  }
  BOOST_TEST(measure_fit(predicted, measured).mse == report.test.mse);
  // The validation MSE of the finished model is the best of the curve, up to folding its scale.
  const auto best = static_cast<std::size_t>(report.best_epoch - 1);
  BOOST_TEST(report.validation.mse == report.curve[best].validation_mse,
             boost::test_tools::tolerance(1e-3));
}

BOOST_AUTO_TEST_CASE(the_best_epoch_has_the_least_of_what_is_minimised) {
  const ComputeDataset data = test::made_up_compute(600, 1);
  ComputeTrainOptions options = quick_compute();
  options.fit.loss = {nn::LossKind::kRelative, 0.01f};
  options.fit.schedule = RateSchedule::kConstant;  // so that epochs go up and down
  const TrainReport report = train_compute({&data, 1}, options, {})->report;
  const auto least = [&](double EpochPoint::*measure) {
    const auto point = std::ranges::min_element(report.curve, {}, measure);
    return point->epoch;
  };
  BOOST_TEST(report.best_epoch == least(&EpochPoint::validation_loss));
  BOOST_TEST(report.best_epoch != least(&EpochPoint::validation_mse));
}

BOOST_AUTO_TEST_CASE(log_targets_and_other_losses_learn_too) {
  const ComputeDataset data = test::made_up_compute(500, 2);
  for (const nn::LossKind loss : {nn::LossKind::kSquared, nn::LossKind::kHuber,
                                  nn::LossKind::kLogCosh, nn::LossKind::kRelative}) {
    for (const CostTarget target : {CostTarget::kMilliseconds, CostTarget::kLogMilliseconds}) {
      ComputeTrainOptions options = quick_compute();
      options.target = target;
      options.fit.loss = {loss, 0.5f};
      options.fit.target_scale = 1;
      const auto training = train_compute({&data, 1}, options, {});
      BOOST_REQUIRE_MESSAGE(training.ok(), training.status().message());
      BOOST_TEST((training->model.target == target));
      BOOST_TEST(training->report.test.mse < compute_variance(data) / 2);
    }
  }
}

BOOST_AUTO_TEST_CASE(equal_arguments_give_equal_bits_whatever_the_threads) {
  const ComputeDataset data = test::made_up_compute(400, 4);
  ComputeTrainOptions options = quick_compute();
  options.fit.epochs = 8;
  options.fit.batch_size = 256;  // several chunks a step
  TrainControl three;
  three.threads = 3;
  const auto a = train_compute({&data, 1}, options, {});
  const auto b = train_compute({&data, 1}, options, three);
  BOOST_REQUIRE(a.ok() && b.ok());
  BOOST_TEST((parameters(a->model) == parameters(b->model)));
  BOOST_TEST(format_training({{"compute", &a->report}}, {}) ==
             format_training({{"compute", &b->report}}, {}));
  options.fit.seed = 4;
  const auto other = train_compute({&data, 1}, options, {});
  BOOST_TEST((parameters(a->model) != parameters(other->model)));
}

BOOST_AUTO_TEST_CASE(several_data_sets_with_batch_sizes_of_their_own_train_one_model) {
  std::vector<ComputeDataset> data = {test::made_up_compute(300, 5, 65536),
                                      test::made_up_compute(300, 6, 16384)};
  data[0].row_parts = 128;
  data[1].row_parts = 8;
  ComputeTrainOptions options = quick_compute();
  const auto training = train_compute(data, options, {});
  BOOST_REQUIRE_MESSAGE(training.ok(), training.status().message());
  BOOST_TEST(training->model.row_parts == 8);  // what all of the data knows
  std::int32_t widest = 0;
  for (const Table& table : data[0].pool) widest = std::max(widest, table.dim);
  for (const Table& table : data[1].pool) widest = std::max(widest, table.dim);
  BOOST_TEST(training->model.max_dim == widest);
  for (const ComputeDataset& part : data) {
    const auto metrics = evaluate_compute(training->model, {&part, 1});
    BOOST_REQUIRE(metrics.ok());
    BOOST_TEST(metrics->mse < compute_variance(part) / 10);
  }
}

BOOST_AUTO_TEST_CASE(networks_blind_to_the_batch_size_take_data_of_one) {
  const std::vector<ComputeDataset> data = {test::made_up_compute(100, 5, 65536),
                                            test::made_up_compute(100, 6, 16384)};
  ComputeTrainOptions options = quick_compute();
  options.features = paper_features();
  const auto training = train_compute(data, options, {});
  BOOST_REQUIRE(!training.ok());
  BOOST_TEST(training.status().message() ==
             "data of batch sizes 65536 and 16384, expected one: no feature of the network depends "
             "on it");
  std::vector<CommDataset> exchanges = {test::made_up_comm(50, 4, 1), test::made_up_comm(50, 4, 2)};
  exchanges[1].batch_size = 16384;
  CommTrainOptions blind = test::quick_comm(CommArchitecture::kPooledDevices);
  blind.features = "dim,dim_max,start,start_wait";
  BOOST_TEST(!train_comm(exchanges, blind, {}).ok());
  BOOST_TEST(!train_comm(exchanges, test::quick_comm(CommArchitecture::kFixedDevices), {}).ok());
  CommTrainOptions seeing = test::quick_comm(CommArchitecture::kPooledDevices);
  seeing.fit.epochs = 2;
  BOOST_TEST(train_comm(exchanges, seeing, {}).ok());
}

BOOST_AUTO_TEST_CASE(several_members_make_one_wider_network_that_averages_noise_away) {
  ComputeDataset data = test::made_up_compute(300, 9);
  Rng noise(10);
  for (io::ComputeSample& sample : data.samples) sample.cost_ms *= 0.8 + 0.4 * noise.uniform();
  ComputeTrainOptions options = quick_compute();
  double alone = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    options.fit.seed = seed;
    alone += train_compute({&data, 1}, options, {})->report.test.mse;
  }
  options.fit.members = 3;
  double together = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    options.fit.seed = seed;
    const auto training = train_compute({&data, 1}, options, {});
    BOOST_REQUIRE_MESSAGE(training.ok(), training.status().message());
    BOOST_TEST(validate(training->model).ok());
    BOOST_TEST(training->model.table.outputs() == 24);
    BOOST_TEST(training->model.head.layer(0).outputs == 36);
    BOOST_TEST(training->report.validation.count == 90);
    together += training->report.test.mse;
  }
  BOOST_TEST(together < alone);
  options.fit.members = 10;
  BOOST_TEST(!train_compute({&data, 1}, options, {}).ok());
}

BOOST_AUTO_TEST_CASE(an_input_that_never_changed_has_no_effect_elsewhere) {
  const ComputeDataset data = test::made_up_compute(300, 7);
  ComputeTrainOptions options = quick_compute();
  options.features = "dim,pooling_factor,batch_size";
  options.fit.epochs = 5;
  const auto training = train_compute({&data, 1}, options, {});
  BOOST_REQUIRE(training.ok());
  ComputeDataset elsewhere = data;
  elsewhere.batch_size = 1024;
  BOOST_TEST(evaluate_compute(training->model, {&data, 1})->mse ==
             evaluate_compute(training->model, {&elsewhere, 1})->mse);
}

BOOST_AUTO_TEST_CASE(a_network_that_is_trained_on_says_at_first_what_it_said) {
  ComputeTrainOptions options = quick_compute();
  options.features = "log_lookups,log_lookup_bytes,lookup_bytes,dim,pooling_factor,log_batch_size";
  options.fit.members = 2;
  const ComputeDataset pooled = test::made_up_compute(400, 21);
  const ComputeModel start = train_compute({&pooled, 1}, options, {})->model;
  ComputeDataset others = test::made_up_compute(400, 22);
  for (std::size_t k = 0; k < others.pool.size(); k += 3) others.pool[k].pooled = false;

  options.start = &start;
  options.features += ",not_pooled";
  options.fit.members = 1;
  options.fit.epochs = 1;
  options.fit.learning_rate = 1e-9;
  const ComputeModel same = train_compute({&others, 1}, options, {})->model;
  BOOST_TEST(same.features.to_string() == options.features);
  BOOST_TEST(same.table.outputs() == start.table.outputs());
  const std::vector<std::int32_t> ids{0, 1, 2, 3, 4, 5};
  const std::vector<double> said = predict_compute(start, others, ids).value();
  const std::vector<double> says = predict_compute(same, others, ids).value();
  for (std::size_t k = 0; k < ids.size(); ++k) {
    BOOST_TEST(says[k] == said[k], boost::test_tools::tolerance(1e-4));
  }

  options.fit.epochs = 40;
  options.fit.learning_rate = 3e-3;
  const ComputeDataset both[] = {pooled, others};
  const ComputeModel learned = train_compute(both, options, {})->model;
  BOOST_TEST(evaluate_compute(learned, {&others, 1})->mape <
             0.8 * evaluate_compute(start, {&others, 1})->mape);

  options.features = "dim,not_pooled";
  const Status refused = train_compute({&others, 1}, options, {}).status();
  BOOST_TEST(refused.message().find("expected to begin with log_lookups,") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(training_stops_when_patience_ends_or_when_told_to) {
  const ComputeDataset data = test::made_up_compute(300, 8);
  ComputeTrainOptions options = quick_compute();
  options.fit.epochs = 400;
  options.fit.patience = 3;
  options.fit.learning_rate = 0.05;
  options.fit.schedule = RateSchedule::kConstant;
  const auto patient = train_compute({&data, 1}, options, {});
  BOOST_REQUIRE(patient.ok());
  const auto epochs = static_cast<std::int32_t>(patient->report.curve.size());
  BOOST_TEST(epochs < 400);
  BOOST_TEST(epochs == patient->report.best_epoch + 3);

  Stopper stopper(4);
  TrainControl control;
  control.progress = &stopper;
  control.cancel = &stopper.token;
  const auto stopped = train_compute({&data, 1}, options, control);
  BOOST_REQUIRE(!stopped.ok());
  BOOST_TEST((stopped.status().code() == StatusCode::kCancelled));
  BOOST_TEST(stopper.last == 4);
}

BOOST_AUTO_TEST_CASE(bad_options_and_data_are_errors) {
  const ComputeDataset data = test::made_up_compute(100, 13);
  const auto refused = [&](auto change) {
    ComputeTrainOptions options = quick_compute();
    change(options);
    const auto training = train_compute({&data, 1}, options, {});
    return !training.ok() && training.status().code() == StatusCode::kInvalidInput;
  };
  BOOST_TEST(refused([](auto& o) { o.features = "dim,nothing"; }));
  BOOST_TEST(refused([](auto& o) { o.fit.epochs = 0; }));
  BOOST_TEST(refused([](auto& o) { o.fit.batch_size = 0; }));
  BOOST_TEST(refused([](auto& o) { o.fit.learning_rate = std::nan(""); }));
  BOOST_TEST(refused([](auto& o) { o.fit.average = 1; }));
  BOOST_TEST(refused([](auto& o) { o.fit.loss.delta = 0; }));
  BOOST_TEST(refused([](auto& o) { o.table_widths = {}; }));
  BOOST_TEST(refused([](auto& o) { o.head_widths = {0}; }));
  BOOST_TEST(refused([](auto& o) { o.fit.train_share = 0.95; }));
  ComputeDataset broken = data;
  broken.samples[0].tables[0] = 60;
  BOOST_TEST(!train_compute({&broken, 1}, quick_compute(), {}).ok());
  BOOST_TEST(!train_compute({}, quick_compute(), {}).ok());
  BOOST_TEST(!train_comm({}, default_comm_options(), {}).ok());
}

BOOST_AUTO_TEST_CASE(real_measurements_are_fitted_within_a_few_epochs) {
  const auto file = test::data_file("costs/cpu_compute/data.txt");
  const auto tables = test::data_file("tables/dlrm856_table_configs.json");
  if (!file || !tables) {
    BOOST_TEST_MESSAGE("skipped: no third-party cost data");
    return;
  }
  const std::string directory = file->substr(0, file->size() - std::string("/data.txt").size());
  const ComputeDataset data = *read_compute_dataset(directory, *tables);
  for (ComputeTrainOptions options : {default_compute_options(), paper_compute_options()}) {
    options.fit.epochs = test::unless_sanitized(25, 12);
    options.fit.learning_rate = 5e-3;
    options.fit.seed = 1;
    const auto training = train_compute({&data, 1}, options, {});
    BOOST_REQUIRE_MESSAGE(training.ok(), training.status().message());
    BOOST_TEST(training->report.test.mse < compute_variance(data) / 4);
    BOOST_TEST(training->report.test.tau > 0.7);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
