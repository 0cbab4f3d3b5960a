#include "engine/pretrain/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <utility>

#include "engine/core/rng.h"
#include "engine/core/thread_pool.h"
#include "nn/backend.h"

namespace neuroshard {
namespace {

// Streams of the seed. The split uses the seed itself.
constexpr std::uint64_t kWeightStream = 1;
constexpr std::uint64_t kFirstEpochStream = 1000;

// The moving average of the weights looks back at most this share of the steps so far, so that
// the first weights are soon forgotten.
constexpr double kAverageWarmup = 10;

std::vector<float> first_parameters(const FitProblem& problem, std::uint64_t seed) {
  Rng rng = Rng(seed).fork(kWeightStream);
  std::vector<float> parameters;
  for (const auto* layers : {&problem.network.encoder, &problem.network.head}) {
    nn::Mlp mlp(*layers);
    nn::initialize(mlp, rng);
    parameters.insert(parameters.end(), mlp.parameters().begin(), mlp.parameters().end());
  }
  // A constant input is 0 once standardised: its weights would stay random, and would be let loose
  // on the first data where it differs.
  const auto inputs = static_cast<std::size_t>(problem.network.inputs());
  const nn::DenseSpec first =
      problem.network.encoder.empty() ? problem.network.head[0] : problem.network.encoder[0];
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!problem.constant[i]) continue;
    for (int o = 0; o < first.outputs; ++o)
      parameters[static_cast<std::size_t>(o) * inputs + i] = 0;
  }
  return parameters;
}

double rate_at(const FitOptions& options, std::int64_t step, std::int64_t steps) {
  if (options.schedule == RateSchedule::kConstant) return options.learning_rate;
  // Down to 2 % of the rate: a last stretch of no steps at all would be wasted.
  constexpr double kFloor = 0.02;
  const double progress = static_cast<double>(step) / static_cast<double>(steps);
  const double wave = 0.5 * (1 + std::cos(std::numbers::pi * progress));
  return options.learning_rate * (kFloor + (1 - kFloor) * wave);
}

class Fit {
 public:
  Fit(const FitProblem& problem, const FitOptions& options, const TrainControl& control,
      nn::Trainer& trainer)
      : problem_(problem),
        options_(options),
        control_(control),
        trainer_(trainer),
        root_(options.seed),
        order_(problem.train),
        predictions_(problem.validation_ms.size()) {}

  Result<FitResult> run(std::string_view phase) {
    FitResult result;
    double best = std::numeric_limits<double>::infinity();
    for (std::int32_t epoch = 1; epoch <= options_.epochs; ++epoch) {
      EpochPoint point{.epoch = epoch};
      NEUROSHARD_ASSIGN_OR_RETURN(point.train_loss, run_epoch(epoch));
      NEUROSHARD_ASSIGN_OR_RETURN(point.validation_mse, validate_epoch());
      if (!std::isfinite(point.train_loss) || !std::isfinite(point.validation_mse)) {
        return internal_error("epoch " + std::to_string(epoch) +
                              ": the loss is not finite; a lower learning rate may help");
      }
      if (point.validation_mse < best) {
        best = point.validation_mse;
        result.best_epoch = epoch;
        NEUROSHARD_ASSIGN_OR_RETURN(nn::TrainerState state, trainer_.state());
        result.parameters = std::move(averaged() ? state.average : state.parameters);
      }
      result.curve.push_back(point);
      report(phase, epoch);
      if (options_.patience > 0 && epoch - result.best_epoch >= options_.patience) break;
    }
    return result;
  }

 private:
  [[nodiscard]] bool averaged() const { return options_.average > 0; }

  void report(std::string_view phase, std::int32_t epoch) const {
    if (control_.progress == nullptr) return;
    control_.progress->update(phase, epoch, options_.epochs, "epochs");
  }

  // Each epoch shuffles anew with a stream of its own. Returns the mean loss.
  Result<double> run_epoch(std::int32_t epoch) {
    Rng rng = root_.fork(kFirstEpochStream + static_cast<std::uint64_t>(epoch));
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[rng.below(i)]);
    const auto batch = static_cast<std::size_t>(options_.batch_size);
    const std::size_t steps_per_epoch = (order_.size() + batch - 1) / batch;
    const auto steps = static_cast<std::int64_t>(steps_per_epoch) * options_.epochs;
    for (std::size_t begin = 0; begin < order_.size(); begin += batch) {
      if (control_.cancel != nullptr && control_.cancel->cancelled()) {
        return cancelled("training was stopped in epoch " + std::to_string(epoch));
      }
      const nn::StepOptions step{
          .loss = options_.loss,
          .rate = static_cast<float>(rate_at(options_, step_, steps)),
          .decay = static_cast<float>(options_.weight_decay),
          .average = static_cast<float>(average_at(step_)),
      };
      const auto part = std::span(order_).subspan(begin, std::min(batch, order_.size() - begin));
      NEUROSHARD_RETURN_IF_ERROR(trainer_.step(problem_.samples, part, step));
      ++step_;
    }
    NEUROSHARD_ASSIGN_OR_RETURN(const double loss, trainer_.take_loss());
    const auto outputs = static_cast<double>(problem_.network.outputs());
    return loss / (static_cast<double>(order_.size()) * outputs);
  }

  [[nodiscard]] double average_at(std::int64_t step) const {
    const auto past = static_cast<double>(step);
    return std::min(options_.average, past / (past + kAverageWarmup));
  }

  Result<double> validate_epoch() {
    using Weights = nn::Trainer::Weights;
    NEUROSHARD_RETURN_IF_ERROR(trainer_.predict(problem_.samples, problem_.validation,
                                                averaged() ? Weights::kAverage : Weights::kCurrent,
                                                predictions_));
    double sum = 0;
    for (std::size_t i = 0; i < predictions_.size(); ++i) {
      const double error = problem_.scale.milliseconds(predictions_[i]) - problem_.validation_ms[i];
      sum += error * error;
    }
    return sum / static_cast<double>(predictions_.size());
  }

  const FitProblem& problem_;
  const FitOptions& options_;
  const TrainControl& control_;
  nn::Trainer& trainer_;
  Rng root_;
  std::vector<std::int32_t> order_;
  std::vector<float> predictions_;
  std::int64_t step_ = 0;
};

Status expect(bool holds, const char* option, double found, const char* expected) {
  if (holds) return {};
  return invalid_input(std::string(option) + ": found " + std::to_string(found) + ", expected " +
                       expected);
}

}  // namespace

Status validate(const FitOptions& o) {
  NEUROSHARD_RETURN_IF_ERROR(expect(o.epochs >= 1, "epochs", o.epochs, "at least 1"));
  NEUROSHARD_RETURN_IF_ERROR(expect(o.patience >= 0, "patience", o.patience, "at least 0"));
  NEUROSHARD_RETURN_IF_ERROR(expect(o.batch_size >= 1, "batch size", o.batch_size, "at least 1"));
  NEUROSHARD_RETURN_IF_ERROR(expect(o.learning_rate > 0 && o.learning_rate <= 1, "learning rate",
                                    o.learning_rate, "above 0, at most 1"));
  NEUROSHARD_RETURN_IF_ERROR(expect(o.weight_decay >= 0 && o.weight_decay * o.learning_rate < 1,
                                    "weight decay", o.weight_decay,
                                    "at least 0, and below 1 / learning rate"));
  NEUROSHARD_RETURN_IF_ERROR(
      expect(o.average >= 0 && o.average < 1, "average", o.average, "at least 0, below 1"));
  NEUROSHARD_RETURN_IF_ERROR(expect(o.loss.delta > 0 && std::isfinite(o.loss.delta), "loss delta",
                                    o.loss.delta, "above 0"));
  return expect(o.target_scale > 0 && o.target_scale <= 1e6, "target scale", o.target_scale,
                "above 0, at most 1e6");
}

Result<FitResult> fit(const FitProblem& problem, const FitOptions& options,
                      const TrainControl& control, std::string_view phase) {
  NEUROSHARD_RETURN_IF_ERROR(validate(options));
  NEUROSHARD_ASSIGN_OR_RETURN(const nn::Backend* backend, nn::select_backend());
  ThreadPool pool(control.threads);
  NEUROSHARD_ASSIGN_OR_RETURN(
      nn::Trainer trainer, nn::Trainer::create(*backend, &pool, problem.network, problem.features));
  NEUROSHARD_RETURN_IF_ERROR(trainer.start(first_parameters(problem, options.seed)));
  return Fit(problem, options, control, trainer).run(phase);
}

}  // namespace neuroshard
