#include "engine/ground_truth/random_placement.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "engine/core/bytes.h"
#include "engine/core/rng.h"
#include "engine/core/shard_bytes.h"

namespace neuroshard {
namespace {

enum class Weight { kDim, kLookups, kBytes };
constexpr std::uint64_t kWeights = 3;

double weigh(Weight weight, const Table& table) {
  if (weight == Weight::kLookups) return table.dim * table.pooling_factor;
  return weight == Weight::kDim ? table.dim : static_cast<double>(table.rows) * table.dim;
}

/// Devices in the order of the weight they hold, the first of equals first.
using ByWeight = std::set<std::pair<double, std::size_t>>;

}  // namespace

Result<PlacementDraw> PlacementDraw::make(const std::vector<Table>& entries, std::int32_t devices,
                                          std::int32_t max_tables, std::int64_t max_memory_bytes) {
  PlacementDraw draw;
  draw.entries_ = &entries;
  draw.devices_ = devices;
  draw.max_tables_ = max_tables;
  draw.max_memory_bytes_ = max_memory_bytes;
  std::set<std::int32_t> dims;
  for (std::size_t id = 0; id < entries.size(); ++id) {
    draw.bytes_.push_back(table_bytes(entries[id], {}));
    if (draw.bytes_.back() > max_memory_bytes) continue;
    draw.fitting_.push_back(static_cast<std::int32_t>(id));
    dims.insert(entries[id].dim);
  }
  if (draw.fitting_.empty()) {
    return invalid_input("max-memory is " + format_bytes(max_memory_bytes) + ", but " +
                         (entries.empty() ? "there are no tables"
                                          : "the smallest table needs " +
                                                format_bytes(*std::min_element(
                                                    draw.bytes_.begin(), draw.bytes_.end()))));
  }
  draw.smallest_.assign(dims.begin(), dims.end());
  return draw;
}

Placement PlacementDraw::draw(std::uint64_t seed, std::int64_t sample) const {
  Rng rng = Rng(seed).fork(static_cast<std::uint64_t>(sample));
  const double a_device = 0.5 * std::exp2(rng.uniform() * std::log2(2.0 * max_tables_));
  const auto count = std::max<std::int64_t>(1, std::llround(a_device * devices_));
  const auto weight = static_cast<Weight>(rng.below(kWeights));
  const double random_share = rng.below(2) == 0 ? 0 : rng.uniform();
  const std::int32_t smallest = smallest_[rng.below(smallest_.size())];

  std::vector<std::pair<double, std::int32_t>> heaviest_first;
  while (std::ssize(heaviest_first) < count) {
    const std::int32_t id = fitting_[rng.below(fitting_.size())];
    const Table& entry = (*entries_)[static_cast<std::size_t>(id)];
    if (entry.dim >= smallest) heaviest_first.emplace_back(-weigh(weight, entry), id);
  }
  std::sort(heaviest_first.begin(), heaviest_first.end());

  Placement placement(static_cast<std::size_t>(devices_));
  std::vector<std::int64_t> left(placement.size(), max_memory_bytes_);
  ByWeight lightest;
  for (std::size_t device = 0; device < placement.size(); ++device) lightest.emplace(0, device);
  std::vector<double> held(placement.size());
  for (const auto& [negative_weight, id] : heaviest_first) {
    const std::int64_t bytes = bytes_[static_cast<std::size_t>(id)];
    std::size_t device = placement.size();
    if (rng.uniform() < random_share) device = rng.below(placement.size());
    if (device == placement.size() || left[device] < bytes) {
      const auto with_room = std::find_if(lightest.begin(), lightest.end(), [&](const auto& each) {
        return left[each.second] >= bytes;
      });
      if (with_room == lightest.end()) continue;
      device = with_room->second;
    }
    lightest.erase({held[device], device});
    held[device] -= negative_weight;
    lightest.emplace(held[device], device);
    left[device] -= bytes;
    placement[device].push_back(id);
  }
  return placement;
}

}  // namespace neuroshard
