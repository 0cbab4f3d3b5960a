#include "search/policy/episode.h"

#include <algorithm>

namespace neuroshard::search {

EpisodeSetting episode_setting(std::span<const PolicyPiece> pieces, const PlanEvaluator& evaluator,
                               std::int64_t memory_bytes) {
  EpisodeSetting setting{memory_bytes, balanced_cost(pieces, evaluator)};
  std::int64_t dims = 0;
  for (const PolicyPiece& piece : pieces) {
    dims += piece.dims;
    setting.piece_ms += piece.cost;
  }
  const auto devices = static_cast<float>(evaluator.devices());
  setting.mean_dims = static_cast<float>(dims) / devices;
  setting.mean_pieces = static_cast<float>(pieces.size()) / devices;
  return setting;
}

Episode::Episode(const PlanEvaluator& evaluator, const PolicyRun& run)
    : evaluator_(evaluator), run_(run) {
  const auto devices = static_cast<std::size_t>(evaluator.devices());
  states_.resize(devices * evaluator.state_size());
  policy_states_.resize(devices * run.state_size());
  memory_.resize(run.memory_size());
  compute_.resize(devices);
  after_.resize(devices);
  scores_.resize(devices);
  dims_.resize(devices);
  bytes_.resize(devices);
  allowed_.resize(devices);
}

void Episode::reset(const EpisodeSetting& setting) {
  setting_ = setting;
  placed_ms_ = 0;
  for (std::size_t device = 0; device < dims_.size(); ++device) {
    evaluator_.clear(states_.data() + device * evaluator_.state_size());
    run_.clear(policy_states_.data() + device * run_.state_size());
  }
  divided_.clear();
  std::fill(memory_.begin(), memory_.end(), 0.0f);
  std::fill(compute_.begin(), compute_.end(), evaluator_.empty_cost());
  std::fill(dims_.begin(), dims_.end(), 0);
  std::fill(bytes_.begin(), bytes_.end(), 0);
}

/// Divided::kNone where no single one has all other columns of a table that may not be whole.
std::int32_t Episode::device_of_all_others(const PolicyPiece& piece) const {
  const auto table = static_cast<std::size_t>(piece.shard.table);
  if (piece.divided_dim == 0 || table >= divided_.size()) return Divided::kNone;
  const Divided& own = divided_[table];
  const bool last = own.dim + piece.shard.dim() == piece.divided_dim;
  return last && own.device >= 0 ? own.device : Divided::kNone;
}

bool Episode::offer(const PolicyPiece& piece) {
  const std::int32_t others = device_of_all_others(piece);
  bool any = false;
  const std::int64_t most = setting_.memory_bytes - piece.bytes;
  for (std::size_t device = 0; device < dims_.size(); ++device) {
    const bool may =
        bytes_[device] <= most && may_be_on(piece.only_on, static_cast<std::int32_t>(device));
    allowed_[device] = may ? 1 : 0;
    any = any || (may && static_cast<std::int32_t>(device) != others);
  }
  if (others >= 0 && any) allowed_[static_cast<std::size_t>(others)] = 0;
  if (!any && (others < 0 || allowed_[static_cast<std::size_t>(others)] == 0)) return false;
  evaluator_.costs_with(piece.shape, states_, after_);
  const double all = setting_.piece_ms;
  standing_ = {.placed = all > 0 ? static_cast<float>(placed_ms_ / all) : 0.0f,
               .cost_ms = compute_,
               .cost_after_ms = after_,
               .dims = dims_,
               .bytes = bytes_,
               .balanced_ms = setting_.balanced_ms,
               .mean_dims = setting_.mean_dims,
               .mean_pieces = setting_.mean_pieces,
               .memory_bytes = setting_.memory_bytes,
               .piece_dims = piece.dims,
               .piece_bytes = piece.bytes};
  return true;
}

std::span<const float> Episode::scores(const PolicyPiece& piece) {
  run_.scores(piece.shape, standing_, policy_states_, memory_, scores_, scratch_);
  return scores_;
}

void Episode::place(const PolicyPiece& piece, std::int32_t device) {
  const auto at = static_cast<std::size_t>(device);
  compute_[at] = evaluator_.place(piece.shape, states_.data() + at * evaluator_.state_size());
  run_.place(piece.shape, policy_states_.data() + at * run_.state_size());
  dims_[at] += piece.dims;
  bytes_[at] += piece.bytes;
  placed_ms_ += piece.cost;
  if (piece.divided_dim == 0) return;
  const auto table = static_cast<std::size_t>(piece.shard.table);
  if (table >= divided_.size()) divided_.resize(table + 1);
  Divided& own = divided_[table];
  own.device = own.dim == 0 || own.device == device ? device : Divided::kSeveral;
  own.dim += piece.shard.dim();
}

}  // namespace neuroshard::search
