#include "engine/training/member.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "nn/mlp.h"

namespace neuroshard {
namespace {

// Streams of the seed: one a member, and of a member's own, one for the weights and one an epoch.
constexpr std::uint64_t kFirstMember = 1;
constexpr std::uint64_t kWeights = 0;

std::vector<float> first_parameters(const FitProblem& problem, Rng rng) {
  std::vector<float> parameters;
  for (const auto* layers : {&problem.network.encoder, &problem.network.head}) {
    nn::Mlp mlp(*layers);
    nn::initialize(mlp, rng);
    for (std::size_t k = 0; problem.zero_biases && k < mlp.depth(); ++k) {
      std::fill(mlp.bias(k).begin(), mlp.bias(k).end(), 0.0f);
    }
    parameters.insert(parameters.end(), mlp.parameters().begin(), mlp.parameters().end());
  }
  // A constant input is 0 once standardised: its weights would stay random, and would be let loose
  // on the first data where it differs.
  const auto inputs = static_cast<std::size_t>(problem.network.inputs());
  const nn::DenseSpec first =
      problem.network.encoder.empty() ? problem.network.head[0] : problem.network.encoder[0];
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!problem.constant[i]) continue;
    for (int o = 0; o < first.outputs; ++o) {
      parameters[static_cast<std::size_t>(o) * inputs + i] = 0;
    }
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

}  // namespace

FitMember::FitMember(nn::Trainer trainer, const FitProblem& problem, const FitPart& part,
                     const FitOptions& options, Rng rng)
    : trainer_(std::move(trainer)),
      problem_(&problem),
      part_(&part),
      options_(&options),
      rng_(rng),
      order_(part.train),
      outputs_(part.validation_ms.size()) {}

Result<FitMember> FitMember::create(const nn::Backend& backend, ThreadPool& pool,
                                    const FitProblem& problem, const FitOptions& options,
                                    std::size_t number) {
  const Rng rng = Rng(options.seed).fork(kFirstMember + number);
  NEUROSHARD_ASSIGN_OR_RETURN(
      nn::Trainer trainer, nn::Trainer::create(backend, &pool, problem.network, problem.features));
  const auto& starts = problem.starts;
  NEUROSHARD_RETURN_IF_ERROR(trainer.start(starts.empty()
                                               ? first_parameters(problem, rng.fork(kWeights))
                                               : starts[number % starts.size()]));
  return FitMember(std::move(trainer), problem, problem.parts[number], options, rng);
}

Result<double> FitMember::run_epoch(std::int32_t epoch, const CancelToken* cancel) {
  Rng rng = rng_.fork(static_cast<std::uint64_t>(epoch));
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[rng.below(i)]);
  const auto batch = static_cast<std::size_t>(options_->batch_size);
  const std::size_t steps_per_epoch = (order_.size() + batch - 1) / batch;
  const auto steps = static_cast<std::int64_t>(steps_per_epoch) * options_->epochs;
  for (std::size_t begin = 0; begin < order_.size(); begin += batch) {
    if (cancel != nullptr && cancel->cancelled()) {
      return cancelled("training was stopped in epoch " + std::to_string(epoch));
    }
    const nn::StepOptions step{
        .loss = options_->loss,
        .rate = static_cast<float>(rate_at(*options_, step_, steps)),
        .decay = static_cast<float>(options_->weight_decay),
        .average = nn::warmed_average(options_->average, step_),
    };
    const auto part = std::span(order_).subspan(begin, std::min(batch, order_.size() - begin));
    NEUROSHARD_RETURN_IF_ERROR(trainer_.step(problem_->samples, part, step));
    ++step_;
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const double loss, trainer_.take_loss());
  const auto outputs = static_cast<double>(problem_->network.outputs());
  return loss / (static_cast<double>(order_.size()) * outputs);
}

Result<std::span<const float>> FitMember::validate() {
  using Weights = nn::Trainer::Weights;
  const Weights weights = options_->average > 0 ? Weights::kAverage : Weights::kCurrent;
  NEUROSHARD_RETURN_IF_ERROR(
      trainer_.predict(problem_->samples, part_->validation, weights, outputs_));
  return std::span<const float>(outputs_);
}

Result<std::vector<float>> FitMember::parameters() const {
  NEUROSHARD_ASSIGN_OR_RETURN(nn::TrainerState state, trainer_.state());
  return std::move(options_->average > 0 ? state.average : state.parameters);
}

}  // namespace neuroshard
