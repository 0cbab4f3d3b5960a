#include "engine/policy/policy_learner.h"

#include <algorithm>
#include <cmath>

#include "engine/policy/policy_context.h"
#include "engine/policy/policy_reward.h"
#include "nn/segment_softmax.h"
#include "search/policy/rollout.h"

namespace neuroshard {
namespace {

/// Sums of the codes of the pieces of a task, which are numbered.
class CodedRun final : public search::PolicyRun {
 public:
  explicit CodedRun(int hidden) : hidden_(static_cast<std::size_t>(hidden)) {}
  void next(const float* code) { code_ = code; }

  void learn(std::span<const search::ShapeId>, std::span<const ShardShape>) override {}
  [[nodiscard]] std::size_t state_size() const override { return hidden_; }
  void clear(float* state) const override { std::fill_n(state, hidden_, 0.0f); }
  void place(search::ShapeId, float* state) const override {
    for (std::size_t h = 0; h < hidden_; ++h) state[h] += code_[h];
  }
  /// The learner asks the head itself, to keep what is between its layers.
  void scores(search::ShapeId, const search::Standing&, std::span<const float>, std::span<float>,
              std::span<float> scores, search::Scratch&) const override {
    std::fill(scores.begin(), scores.end(), 0.0f);
  }

 private:
  const std::size_t hidden_;
  const float* code_ = nullptr;  // of the piece that is placed next
};

std::size_t size_of(const std::vector<nn::DenseSpec>& layers) {
  return nn::parameter_count(layers);
}

}  // namespace

PolicyLearner::PolicyLearner(const nn::Backend& backend, std::vector<nn::DenseSpec> table,
                             bool recurrent, PolicyReward reward)
    : layers_(std::move(table)),
      stack_(backend, layers_),
      hidden_(layers_.back().outputs / 2),
      reward_(reward) {
  if (recurrent) lstm_.emplace(backend, nn::LstmSpec{hidden_, hidden_});
}

std::size_t PolicyLearner::parameters() const {
  const std::size_t lstm = lstm_ ? nn::parameter_count(lstm_->spec()) : 0;
  return size_of(layers_) + policy_head_parameters(hidden_) + lstm;
}

/// What the LSTM has of the pieces does not depend on where they go, so all plans of a task share
/// it.
Status PolicyLearner::read_pieces(std::span<const float> parameters, std::int64_t pieces) {
  const auto hidden = static_cast<std::size_t>(hidden_);
  inputs_.resize(static_cast<std::size_t>(pieces) * hidden);
  for (std::size_t k = 0; k < static_cast<std::size_t>(pieces); ++k) {
    std::copy_n(codes_.data() + (2 * k + 1) * hidden, hidden, inputs_.data() + k * hidden);
  }
  offered_ = inputs_;
  d_offered_.assign(offered_.size(), 0.0f);
  if (!lstm_) return {};
  NEUROSHARD_RETURN_IF_ERROR(lstm_->reserve(pieces, true));
  const float* const hidden_values = lstm_->forward(parameters.data(), pieces, inputs_.data());
  std::copy_n(hidden_values, offered_.size(), offered_.data());
  return {};
}

/// From what the head was told of pieces to their codes.
void PolicyLearner::read_back(std::span<const float> parameters, std::int64_t pieces,
                              std::span<float> gradient) {
  const auto hidden = static_cast<std::size_t>(hidden_);
  if (lstm_) {
    std::copy(d_offered_.begin(), d_offered_.end(), lstm_->output_gradient());
    lstm_->backward(parameters.data(), pieces, inputs_.data(), gradient.data(), d_offered_.data());
  }
  for (std::size_t k = 0; k < static_cast<std::size_t>(pieces); ++k) {
    std::copy_n(d_offered_.data() + k * hidden, hidden, d_codes_.data() + (2 * k + 1) * hidden);
  }
}

void PolicyLearner::run_episode(const PolicyTask& task, const PolicyWorld& world,
                                const PolicyHead& head, const LearningRule& rule, Rng& rng,
                                Record& record) {
  const auto devices = static_cast<std::size_t>(world.devices);
  const auto hidden = static_cast<std::size_t>(hidden_);
  const std::size_t pieces = task.pieces.size();
  record.context.resize(pieces * devices * kPolicyContext);
  record.units.resize(pieces * devices * hidden);
  record.log_p.resize(pieces * devices);
  record.chosen.clear();
  record.penalty = kStuckShare * task.teacher_penalty;
  CodedRun run(hidden_);
  search::Episode episode(*world.evaluator, run);
  episode.reset(task.setting);
  std::vector<float> scores(devices);
  const std::int32_t offsets[] = {0, world.devices};
  for (std::size_t k = 0; k < pieces; ++k) {
    const search::PolicyPiece& piece = task.pieces[k];
    if (!episode.offer(piece)) return;
    const std::span<float> context =
        std::span(record.context).subspan(k * devices * kPolicyContext, devices * kPolicyContext);
    write_policy_context(episode.standing(), context);
    head.scores(episode.policy_states(), policy_sum_scale(episode.standing().mean_pieces),
                offered_.data() + k * hidden, context, scores,
                record.units.data() + k * devices * hidden);
    nn::run(nn::SegmentLogSoftmax{1, offsets, scores.data(), episode.allowed().data(),
                                  record.log_p.data() + k * devices});
    const std::int32_t device =
        rule.imitate ? piece.shard.device
                     : search::drawn_device(scores, episode.allowed(), rng.uniform());
    run.next(codes_.data() + k * 2 * hidden);
    episode.place(piece, device);
    record.chosen.push_back(device);
  }
  record.penalty = penalty_of(reward_, *world.evaluator, episode.placed(), scratch_);
}

/// How far each plan is below the mean penalty, in deviations; imitation weighs its only one 1.
void PolicyLearner::reward(const PolicyTask& task, const LearningRule& rule) {
  const auto count = static_cast<double>(records_.size());
  weights_.assign(records_.size(), 1.0f);
  if (rule.imitate) return;
  double mean = 0;
  for (const Record& record : records_) mean += record.penalty / task.teacher_penalty / count;
  double squares = 0;
  for (const Record& record : records_) {
    const double off = record.penalty / task.teacher_penalty - mean;
    squares += off * off / count;
  }
  // Where all plans cost the same there is nothing to learn from what is left of rounding.
  const double deviation = std::sqrt(squares) + 1e-4;
  for (std::size_t k = 0; k < records_.size(); ++k) {
    const double reward = (mean - records_[k].penalty / task.teacher_penalty) / deviation;
    weights_[k] = static_cast<float>(std::clamp(reward, -3.0, 3.0));
  }
}

/// From the last choice to the first: what a piece adds to a device counts in all later ones.
void PolicyLearner::add_gradients(const Record& record, float weight, float entropy,
                                  const PolicyHead& head, std::size_t devices, float sum_scale,
                                  std::span<float> d_head) {
  const std::size_t steps = record.chosen.size();
  const auto hidden = static_cast<std::size_t>(hidden_);
  step_weights_.assign(steps, weight);
  d_scores_.resize(steps * devices);
  offsets_.resize(steps + 1);
  for (std::size_t k = 0; k <= steps; ++k) offsets_[k] = static_cast<std::int32_t>(k * devices);
  nn::run(nn::SegmentChoiceGradient{static_cast<std::int64_t>(steps), offsets_.data(),
                                    record.log_p.data(), record.chosen.data(), step_weights_.data(),
                                    entropy, d_scores_.data()});
  d_held_.assign(devices * hidden, 0.0f);
  for (std::size_t k = steps; k-- > 0;) {
    float* const d_code = d_codes_.data() + k * 2 * hidden;
    const float* const later = d_held_.data() + static_cast<std::size_t>(record.chosen[k]) * hidden;
    for (std::size_t h = 0; h < hidden; ++h) d_code[h] += sum_scale * later[h];
    head.add_gradients(
        std::span(record.context).subspan(k * devices * kPolicyContext, devices * kPolicyContext),
        std::span(record.units).subspan(k * devices * hidden, devices * hidden),
        std::span(d_scores_).subspan(k * devices, devices), d_head, d_held_.data(),
        d_offered_.data() + k * hidden);
  }
}

LearnedTask PolicyLearner::outcome(const PolicyTask& task, std::size_t devices) const {
  LearnedTask learned;
  std::int64_t choices = 0;
  for (const Record& record : records_) {
    learned.share += record.penalty / task.teacher_penalty / static_cast<double>(records_.size());
    for (std::size_t k = 0; k < record.chosen.size(); ++k, ++choices) {
      const float* const log_p = record.log_p.data() + k * devices;
      learned.loss -= log_p[record.chosen[k]];
      for (std::size_t d = 0; d < devices; ++d) {
        if (std::isfinite(log_p[d])) {
          learned.entropy -= std::exp(static_cast<double>(log_p[d])) * log_p[d];
        }
      }
    }
  }
  if (choices > 0) {
    learned.loss /= static_cast<double>(choices);
    learned.entropy /= static_cast<double>(choices);
  }
  return learned;
}

Result<LearnedTask> PolicyLearner::learn(const PolicyTask& task, const PolicyWorld& world,
                                         std::span<const float> features,
                                         std::span<const float> parameters,
                                         const LearningRule& rule, Rng& rng,
                                         std::span<float> gradient) {
  const std::size_t table = size_of(layers_);
  const auto pieces = static_cast<std::int64_t>(task.pieces.size());
  NEUROSHARD_RETURN_IF_ERROR(stack_.reserve(pieces, true));
  const float* const codes = stack_.forward(parameters.data(), pieces, features.data());
  const std::size_t width = 2 * static_cast<std::size_t>(hidden_);
  codes_.assign(codes, codes + task.pieces.size() * width);
  d_codes_.assign(codes_.size(), 0.0f);
  const std::size_t behind = table + policy_head_parameters(hidden_);
  NEUROSHARD_RETURN_IF_ERROR(read_pieces(parameters.subspan(behind), pieces));
  const PolicyHead head(hidden_, parameters.subspan(table, behind - table));
  records_.resize(rule.imitate ? 1 : static_cast<std::size_t>(rule.episodes));
  for (Record& record : records_) run_episode(task, world, head, rule, rng, record);
  reward(task, rule);

  std::fill(gradient.begin(), gradient.end(), 0.0f);
  const auto devices = static_cast<std::size_t>(world.devices);
  const float sum_scale = policy_sum_scale(task.setting.mean_pieces);
  const float scale = 1 / static_cast<float>(records_.size() * task.pieces.size());
  for (std::size_t k = 0; k < records_.size(); ++k) {
    add_gradients(records_[k], scale * weights_[k], scale * rule.entropy, head, devices, sum_scale,
                  gradient.subspan(table, behind - table));
  }
  read_back(parameters.subspan(behind), pieces, gradient.subspan(behind));
  std::copy(d_codes_.begin(), d_codes_.end(), stack_.output_gradient());
  stack_.backward(parameters.data(), pieces, features.data(), gradient.data(), nullptr);
  return outcome(task, devices);
}

}  // namespace neuroshard
