#include "search/policy/episode.h"

#include <algorithm>

namespace neuroshard::search {

EpisodeSetting episode_setting(std::span<const PolicyPiece> pieces, const PlanEvaluator& evaluator,
                               std::int64_t memory_bytes) {
  EpisodeSetting setting{memory_bytes, balanced_cost(pieces, evaluator)};
  std::int64_t dims = 0;
  for (const PolicyPiece& piece : pieces) {
    dims += piece.exchanged.dims;
    setting.piece_ms += piece.cost;
  }
  const auto devices = static_cast<float>(evaluator.devices());
  setting.mean_dims = static_cast<float>(dims) / devices;
  setting.mean_pieces = static_cast<float>(pieces.size()) / devices;
  return setting;
}

void learn_shapes(std::span<const PolicyPiece> pieces, PolicyRun& run) {
  std::vector<ShapeId> ids;
  std::vector<ShardShape> shapes;
  for (const PolicyPiece& piece : pieces) {
    ids.push_back(piece.shape);
    shapes.push_back(shape_of(piece.shard));
  }
  run.learn(ids, shapes);
}

Episode::Episode(const PlanEvaluator& evaluator, const PolicyRun& run)
    : evaluator_(evaluator),
      run_(run),
      placed_(evaluator),
      room_(evaluator.devices()),
      chooser_(run.chooser(evaluator.devices())),
      costs_(evaluator.device_costs()) {
  const auto devices = static_cast<std::size_t>(evaluator.devices());
  states_.resize(devices * evaluator.state_size());
  policy_states_.resize(devices * run.state_size());
  memory_.resize(run.memory_size());
  after_.resize(devices);
  scores_.resize(devices);
}

void Episode::reset(const EpisodeSetting& setting) {
  setting_ = setting;
  placed_ms_ = 0;
  for (std::size_t device = 0; device < placed_.dim_sums.size(); ++device) {
    evaluator_.clear(states_.data() + device * evaluator_.state_size());
    run_.clear(policy_states_.data() + device * run_.state_size());
  }
  room_.reset(setting.memory_bytes);
  chooser_->reset();
  if (costs_) costs_->begin();
  std::fill(memory_.begin(), memory_.end(), 0.0f);
  placed_.clear(evaluator_.empty_cost());
}

bool Episode::offer(const PolicyPiece& piece) {
  if (!room_.offer(piece)) return false;
  if (costs_) {
    costs_->costs_with(piece.shape, states_, after_);
  } else {
    evaluator_.costs_with(piece.shape, states_, after_);
  }
  const double all = setting_.piece_ms;
  standing_ = {.placed = all > 0 ? static_cast<float>(placed_ms_ / all) : 0.0f,
               .cost_ms = placed_.compute_ms,
               .cost_after_ms = after_,
               .dims = placed_.dim_sums,
               .bytes = room_.bytes(),
               .balanced_ms = setting_.balanced_ms,
               .mean_dims = setting_.mean_dims,
               .mean_pieces = setting_.mean_pieces,
               .memory_bytes = setting_.memory_bytes,
               .piece_dims = piece.exchanged.dims,
               .piece_bytes = piece.bytes};
  return true;
}

std::span<const float> Episode::scores(const PolicyPiece& piece) {
  run_.scores(piece.shape, standing_, policy_states_, memory_, scores_, scratch_);
  return scores_;
}

std::int32_t Episode::best_device(const PolicyPiece& piece) {
  return chooser_->best({piece.shape, standing_, policy_states_, room_.allowed()}, memory_);
}

void Episode::place(const PolicyPiece& piece, std::int32_t device) {
  const auto at = static_cast<std::size_t>(device);
  float* const state = states_.data() + at * evaluator_.state_size();
  placed_.compute_ms[at] = evaluator_.place(piece.shape, state);
  if (costs_) costs_->change(at, state);
  run_.place(piece.shape, policy_states_.data() + at * run_.state_size());
  placed_.add(at, piece.exchanged);
  room_.place(piece, device);
  placed_ms_ += piece.cost;
}

}  // namespace neuroshard::search
