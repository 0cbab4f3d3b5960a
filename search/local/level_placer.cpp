#include "search/local/level_placer.h"

#include <algorithm>
#include <array>

namespace neuroshard::search {
namespace {

constexpr std::size_t kFew = 16;   // devices that are all asked in one call
constexpr std::size_t kTried = 8;  // of more, for one piece: later ones are hardly ever taken

}  // namespace

LevelPlacer::LevelPlacer(const Problem& problem, const PlanEvaluator& evaluator,
                         const ShapeCatalog& catalog)
    : evaluator_(evaluator),
      catalog_(catalog),
      memory_bytes_(problem.cluster.memory_bytes),
      state_size_(evaluator.state_size()),
      states_(static_cast<std::size_t>(problem.cluster.devices) * state_size_),
      compute_ms_(static_cast<std::size_t>(problem.cluster.devices)),
      dim_sums_(compute_ms_.size()),
      compute_with_(compute_ms_.size()) {}

/// The rank of the device with the least load after taking the piece; order_.size(): none.
std::size_t LevelPlacer::best_rank(const CatalogEntry& entry, const Dims& rule) {
  std::size_t best = order_.size();
  double least = 0;
  std::size_t tried = 0;
  const bool few = order_.size() <= kFew;
  if (few) evaluator_.costs_with(entry.shape, states_, compute_with_);
  const float* addend = evaluator_.addend(entry.shape);
  for (std::size_t rank = 0; rank < order_.size() && (few || tried < kTried); ++rank) {
    const DeviceLoad& device = order_[rank];
    if (device.bytes > memory_bytes_ - entry.bytes) continue;
    const auto dims = static_cast<double>(device.dims + entry.dim);
    const double beyond = std::max(0.0, dims - rule.cap) * rule.ms_per_dim_beyond;
    if (beyond > 0 && best != order_.size() && device.load + beyond >= least) continue;
    ++tried;
    const auto index = static_cast<std::size_t>(device.device);
    const std::array<const float*, 2> parts{states_.data() + index * state_size_, addend};
    const float compute = few ? compute_with_[index] : evaluator_.cost_of_sum(parts);
    const double load = compute + rule.ms_per_dim * dims + beyond;
    if (best != order_.size() && load >= least) continue;
    best = rank;
    least = load;
  }
  return best;
}

/// Makes all devices those with the blocks among the pieces; false when they have not the memory.
bool LevelPlacer::place_blocks(std::span<const EntryId> pieces, double ms_per_dim) {
  const auto devices = static_cast<std::int32_t>(compute_ms_.size());
  float* state = states_.data();
  evaluator_.clear(state);
  float compute = evaluator_.empty_cost();
  DeviceLoad each;
  assignment_.assign(pieces.size(), {});
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    const CatalogEntry& entry = catalog_.entry(pieces[piece]);
    if (!entry.everywhere) continue;
    compute = evaluator_.place(entry.shape, state);
    each.bytes += entry.bytes;
    each.dims += entry.dim;
    each.load = compute + ms_per_dim * static_cast<double>(each.dims);
    assignment_[piece] = {pieces[piece], 0};
    for (std::int32_t device = 1; device < devices; ++device) {
      assignment_.push_back({pieces[piece], device});
    }
  }
  for (std::size_t device = 1; device < compute_ms_.size(); ++device) {
    std::copy_n(state, state_size_, state + device * state_size_);
  }
  std::fill(compute_ms_.begin(), compute_ms_.end(), compute);
  std::fill(dim_sums_.begin(), dim_sums_.end(), each.dims);
  order_.reset(devices, each);
  return each.bytes <= memory_bytes_;
}

bool LevelPlacer::place(std::span<const EntryId> pieces, const Dims& dims, std::int64_t bulky) {
  items_.clear();
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    const CatalogEntry& entry = catalog_.entry(pieces[piece]);
    if (entry.everywhere) continue;
    items_.push_back({entry.bytes >= bulky ? entry.bytes : 0,
                      evaluator_.shape_cost(entry.shape) + dims.ms_per_dim * entry.dim,
                      static_cast<std::int32_t>(piece)});
  }
  std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
    if (a.bulk != b.bulk) return a.bulk > b.bulk;
    return a.weight != b.weight ? a.weight > b.weight : a.piece > b.piece;
  });
  if (!place_blocks(pieces, dims.ms_per_dim)) return false;
  for (const Item& item : items_) {
    const EntryId id = pieces[static_cast<std::size_t>(item.piece)];
    const CatalogEntry& entry = catalog_.entry(id);
    const std::size_t rank = best_rank(entry, dims);
    if (rank == order_.size()) return false;
    const std::int32_t device = order_[rank].device;
    const auto index = static_cast<std::size_t>(device);
    compute_ms_[index] = evaluator_.place(entry.shape, states_.data() + index * state_size_);
    dim_sums_[index] += entry.dim;
    assignment_[static_cast<std::size_t>(item.piece)] = {id, device};
    const double load =
        compute_ms_[index] + dims.ms_per_dim * static_cast<double>(dim_sums_[index]);
    order_.add(rank, load, entry.bytes, entry.dim);
  }
  return true;
}

}  // namespace neuroshard::search
