#include "search/surco/placed_pieces.h"

#include <algorithm>
#include <array>

#include "search/local/cost_estimate.h"

namespace neuroshard::search {

PlacedPieces::PlacedPieces(const PlanEvaluator& evaluator)
    : evaluator_(evaluator),
      devices_(static_cast<std::size_t>(evaluator.devices())),
      state_size_(evaluator.state_size()),
      states_(devices_ * state_size_),
      placed_(evaluator),
      with_(devices_),
      suffix_(state_size_) {}

void PlacedPieces::place(std::span<const PolicyPiece> pieces) {
  for (std::size_t d = 0; d < devices_; ++d) evaluator_.clear(states_.data() + d * state_size_);
  placed_.clear(evaluator_.empty_cost());
  for (const PolicyPiece& piece : pieces) {
    const auto d = static_cast<std::size_t>(piece.shard.device);
    placed_.compute_ms[d] = evaluator_.place(piece.shape, states_.data() + d * state_size_);
    placed_.add(d, piece.exchanged);
  }
}

/// Of the pieces that the device holds: what it costs without each is the sum of those before it
/// and of those after it, as nothing is ever taken off a sum.
void PlacedPieces::add_own(std::span<const PolicyPiece> pieces, std::span<const std::size_t> held,
                           std::size_t device, std::span<double> added_ms) {
  prefixes_.resize((held.size() + 1) * state_size_);
  evaluator_.clear(prefixes_.data());
  for (std::size_t k = 0; k < held.size(); ++k) {
    float* const before = prefixes_.data() + k * state_size_;
    std::copy_n(before, state_size_, before + state_size_);
    evaluator_.place(pieces[held[k]].shape, before + state_size_);
  }
  std::fill(suffix_.begin(), suffix_.end(), 0.0f);
  for (std::size_t k = held.size(); k-- > 0;) {
    const std::array<const float*, 2> others{prefixes_.data() + k * state_size_, suffix_.data()};
    const float without =
        held.size() == 1 ? evaluator_.empty_cost() : evaluator_.cost_of_sum(others);
    added_ms[held[k] * devices_ + device] =
        finite_ms(placed_.compute_ms[device]) - finite_ms(without);
    const float* const addend = evaluator_.addend(pieces[held[k]].shape);
    for (std::size_t i = 0; i < state_size_; ++i) suffix_[i] += addend[i];
  }
}

void PlacedPieces::added_compute(std::span<const PolicyPiece> pieces, std::span<double> added_ms) {
  std::vector<std::vector<std::size_t>> held(devices_);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    held[static_cast<std::size_t>(pieces[p].shard.device)].push_back(p);
    evaluator_.costs_with(pieces[p].shape, states_, with_);
    for (std::size_t d = 0; d < devices_; ++d) {
      added_ms[p * devices_ + d] = finite_ms(with_[d]) - finite_ms(placed_.compute_ms[d]);
    }
  }
  for (std::size_t d = 0; d < devices_; ++d) add_own(pieces, held[d], d, added_ms);
}

}  // namespace neuroshard::search
