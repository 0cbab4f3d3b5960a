#include "search/policy/rollout.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/policy/device_chooser.h"

namespace neuroshard::search {

std::int32_t drawn_device(std::span<const float> scores, std::span<const unsigned char> allowed,
                          double uniform) {
  const std::int32_t best = best_device(scores, allowed);
  const float highest = scores[static_cast<std::size_t>(best)];
  const auto weight = [&](std::size_t device) {
    return allowed[device] == 0 ? 0.0 : std::exp(static_cast<double>(scores[device] - highest));
  };
  double sum = 0;
  for (std::size_t device = 0; device < scores.size(); ++device) sum += weight(device);
  double left = uniform * sum;
  for (std::size_t device = 0; device < scores.size(); ++device) {
    left -= weight(device);
    if (left < 0) return static_cast<std::int32_t>(device);
  }
  return best;  // what rounding leaves
}

namespace {

constexpr std::size_t kPiecesAReport = 256;

/// The halves go among what is left, which is ordered.
void insert_halves(std::vector<PolicyPiece>& pieces, std::size_t left,
                   std::span<const PolicyPiece> halves,
                   bool (*before)(const PolicyPiece&, const PolicyPiece&)) {
  for (const PolicyPiece& half : halves) {
    const auto first = pieces.begin() + static_cast<std::ptrdiff_t>(left);
    pieces.insert(std::upper_bound(first, pieces.end(), half, before), half);
  }
}

}  // namespace

Rollout roll_out(Episode& episode, const EpisodeSetting& setting,
                 std::span<const PolicyPiece> pieces,
                 bool (*before)(const PolicyPiece&, const PolicyPiece&), const Halving* halving,
                 Rng* rng, const StopCheck& stop, ProgressSink* progress) {
  Rollout result;
  result.pieces.assign(pieces.begin(), pieces.end());
  episode.reset(setting);
  for (std::size_t k = 0; k < result.pieces.size();) {
    if (stop.stop()) {
      result.stopped = true;
      return result;
    }
    if (progress != nullptr && k % kPiecesAReport == 0) {
      progress->update("placing", static_cast<std::int64_t>(k),
                       static_cast<std::int64_t>(result.pieces.size()), "pieces");
    }
    PolicyPiece piece = result.pieces[k];
    if (!episode.offer(piece)) {
      if (halving == nullptr || !halving->cutter.can_halve(piece)) return result;
      const std::vector<PolicyPiece> halves = halving->cutter.halves(piece);
      learn_shapes(halves, halving->run);
      result.pieces.erase(result.pieces.begin() + static_cast<std::ptrdiff_t>(k));
      insert_halves(result.pieces, k, halves, before);
      continue;
    }
    piece.shard.device =
        rng == nullptr ? episode.best_device(piece)
                       : drawn_device(episode.scores(piece), episode.allowed(), rng->uniform());
    episode.place(piece, piece.shard.device);
    result.pieces[k++] = piece;
  }
  result.complete = true;
  result.placed = episode.placed();
  return result;
}

}  // namespace neuroshard::search
