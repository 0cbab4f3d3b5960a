#include "search/refine/piece_trials.h"

#include <algorithm>
#include <array>

#include "engine/core/bytes.h"

namespace neuroshard::search {
namespace {

// golden_costs_bench: with 1.2 dcnv2_networks_8 is 1.82 % costlier and dcnv2_networks_16 1.01, with
// 1 all of ten settings are within 0.13 %; 8 or 512 times are within 0.08. Without bulky pieces
// networks_8_little_memory is 1.29 % costlier.
constexpr double kFirstCap = 1.05;
/// Of a device's memory: the least that is placed before lighter pieces (none at first).
constexpr std::array kBulky{2.0, 0.5, 0.25, 0.1, 0.02};
constexpr double kBeyond = 64;  // times the cost of a dim of the widest device: a cap to mind

}  // namespace

PieceTrials::PieceTrials(const Problem& problem, const PlanEvaluator& evaluator,
                         const ShapeCatalog& catalog)
    : catalog_(catalog),
      devices_(problem.cluster.devices),
      room_(problem.cluster.memory_bytes),
      cap_(kFirstCap),
      placer_(problem, evaluator, catalog),
      coster_(evaluator) {}

/// The dims of the widest device at least.
double PieceTrials::least_width(const Pieces& pieces) const {
  double sum = 0;
  double widest = 0;
  double blocks = 0;
  for (const EntryId id : pieces) {
    const CatalogEntry& entry = catalog_.entry(id);
    const auto dim = static_cast<double>(entry.exchanged.dims);
    const bool block = entry.everywhere();
    (block ? blocks : sum) += block ? dim : catalog_.holders(id) * dim;
    if (!block) widest = std::max(widest, dim);
  }
  return blocks + std::max(widest, sum / devices_);
}

/// Where there is no room in order of load, large pieces go first.
bool PieceTrials::place_by_load(const Pieces& pieces) {
  const LoadPlacer::Dims dims{response_.ready_per_dim + response_.own_per_dim,
                              cap_ * least_width(pieces), kBeyond * response_.widest_per_dim};
  for (std::size_t rank = bulky_; rank < kBulky.size(); ++rank) {
    if (!placer_.place(pieces, dims, scaled_bytes(room_, kBulky[rank]), stop_)) {
      continue;
    }
    if (placed_ == 0) bulky_ = rank;
    return true;
  }
  return false;
}

bool PieceTrials::place(const Pieces& pieces) {
  if (!place_by_load(pieces)) return false;
  last_cost_ = coster_.cost(placer_);
  if (placed_++ > 0 && !(last_cost_ < cost_)) return true;
  cost_ = last_cost_;
  pieces_ = pieces;
  assignment_ = placer_.assignment();
  return true;
}

bool PieceTrials::improve(const Pieces& pieces) {
  const double before = cost_;
  return place(pieces) && cost_ < before;
}

}  // namespace neuroshard::search
