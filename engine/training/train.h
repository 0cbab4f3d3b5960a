#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/progress.h"
#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"
#include "engine/training/dataset.h"
#include "engine/training/report.h"
#include "nn/loss.h"

namespace neuroshard {

/// How the learning rate moves over a training.
enum class RateSchedule { kConstant, kCosine };
/// "constant", "cosine"; the error lists them.
Result<RateSchedule> parse_rate_schedule(std::string_view text);
std::string_view to_string(RateSchedule schedule);
/// "ms", "log_ms".
Result<CostTarget> parse_cost_target(std::string_view text);
std::string_view to_string(CostTarget target);
/// "fixed-devices-mlp", "pooled-devices-mlp".
Result<CommArchitecture> parse_comm_architecture(std::string_view text);
std::string_view to_string(CommArchitecture architecture);

/// How a network is fitted. Targets are learned in units of their mean over the training part,
/// divided by `target_scale` (with kLogMilliseconds: their logarithm less its mean); the saved
/// network has the unit folded into its last layer, so it says ms (or log ms).
struct FitOptions {
  std::int32_t epochs = 300;
  std::int32_t patience = 0;  ///< epochs without a better validation loss before it stops; 0: never
  std::int32_t batch_size = 512;  ///< samples a step
  double learning_rate = 1e-3;    ///< Adam's
  RateSchedule schedule = RateSchedule::kCosine;
  double weight_decay = 0;  ///< AdamW's; 0 is Adam
  double average = 0;       ///< share of a moving average of the weights kept a step; 0: no average
  /// Networks of the given widths, trained side by side from weights and orders of their own, each
  /// with another validation part; the model is one as many times wider that says their mean.
  std::int32_t members = 1;
  nn::LossSpec loss;  ///< delta in units of the learned target
  double target_scale = 1;
  double train_share = 0.8;  ///< of the samples; what neither share takes is the test part
  double validation_share = 0.1;
  std::uint64_t seed = 0;  ///< of the split, the first weights and the order of the samples
};

/// `table-sum-mlp`.
struct ComputeTrainOptions {
  std::string features;           ///< comma list: engine/cost_model/features.h
  std::vector<int> table_widths;  ///< of the encoder's layers, ReLU after each; of one member
  std::vector<int> head_widths;   ///< of the head's hidden layers; of one member
  CostTarget target = CostTarget::kMilliseconds;
  FitOptions fit;
  /// One that all members go on from, whose features `features` begins with: inputs that it lacks
  /// begin without effect, widths and target are its own. Not owned; null: random weights.
  const ComputeModel* start = nullptr;
};
/// Ours, the default of `train compute`.
ComputeTrainOptions default_compute_options();
/// The paper's network, features, loss and optimizer (20 -> 128 -> 32, 32 -> 64 -> 1, MSE, Adam
/// 1e-3, batch 512).
ComputeTrainOptions paper_compute_options();

struct CommTrainOptions {
  CommArchitecture architecture = CommArchitecture::kPooledDevices;
  std::string features;  ///< kPooledDevices only: engine/cost_model/comm_features.h
  std::vector<int> hidden_widths;
  FitOptions fit;
};
CommTrainOptions default_comm_options();
/// The paper's: fixed-devices-mlp, 2N or N -> 128 -> 64 -> 32 -> 16 -> N.
CommTrainOptions paper_comm_options();

/// The surroundings of a job. Results do not depend on `threads`.
struct TrainControl {
  int threads = 1;                      ///< 0: one per hardware thread
  bool gpu = false;                     ///< train on a GPU: equal results within rounding only
  ProgressSink* progress = nullptr;     ///< epochs of "train compute", "train forward", ...
  const CancelToken* cancel = nullptr;  ///< polled between steps: kCancelled
};

struct ComputeTraining {
  ComputeModel model;
  TrainReport report;
};

struct CommTraining {
  CommModels models;
  TrainReport forward;
  TrainReport backward;
};

/// Splits the samples at random, fits a network to the training part, keeps the epoch with the
/// least validation MSE and reports on the test part. Features are standardised by their mean and
/// unbiased standard deviation + 1e-6 over the pools (every entry once, used or not); a feature
/// that is the same everywhere gets weights 0, so that it stays without effect elsewhere. The same
/// arguments give the same model and report, bit for bit, on the same kind of processor and
/// backend. Errors: kInvalidInput for options out of range, unknown features, a start that has
/// others, ids outside the pool or too few samples; kCancelled; kInternal when the loss is not
/// finite.
Result<ComputeTraining> train_compute(std::span<const ComputeDataset> data,
                                      const ComputeTrainOptions& options,
                                      const TrainControl& control);

/// The same for both directions of the all-to-all. Inputs are standardised over the samples that
/// any member learns from; with kPooledDevices, where device counts may differ between data sets,
/// inputs of at most 8 different values get 5 times their deviation, which keeps the network smooth
/// between them. There those that double with all dims and starts keep their 0, if they differ by
/// much, and biases begin with 0: what exchanges of one size teach holds for others.
Result<CommTraining> train_comm(std::span<const CommDataset> data, const CommTrainOptions& options,
                                const TrainControl& control);

}  // namespace neuroshard
