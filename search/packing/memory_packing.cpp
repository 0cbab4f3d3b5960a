#include "search/packing/memory_packing.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/core/rng.h"
#include "search/packing/fullest_subset.h"

namespace neuroshard::search {
namespace {

constexpr std::int64_t kRepacks = 400;         // of two devices, ..
constexpr std::int64_t kRepacksPerDevice = 8;  // .. and as many more
constexpr std::int64_t kStepsPerCheck = 16;    // of the clock
constexpr std::int64_t kNodes = 1000;          // of the search for what fills a device, ..
constexpr std::int64_t kNodesPerPiece = 4;     // .. and as many more
constexpr std::uint64_t kAnyDevice = 4;        // one in so many repacks is not for the roomiest ..
constexpr std::uint64_t kStaysOut = 4;         // .. or keeps a piece out

class Packing {
 public:
  Packing(std::span<const std::int64_t> bytes, std::int32_t devices, std::int64_t memory_bytes)
      : bytes_(bytes),
        memory_bytes_(memory_bytes),
        free_(static_cast<std::size_t>(devices), memory_bytes),
        on_device_(free_.size()) {}

  bool run(PackingEffort effort, const StopCheck& stop) {
    std::vector<std::size_t> order(bytes_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [this](auto a, auto b) { return larger(a, b); });
    std::vector<std::size_t> left;
    std::int64_t left_bytes = 0;
    for (const std::size_t piece : order) {
      if (place_where_it_fits(piece)) continue;
      if (bytes_[piece] > memory_bytes_) return false;
      left.push_back(piece);
      left_bytes += bytes_[piece];
    }
    if (left.empty()) return true;
    if (effort == PackingEffort::kGreedy || free_.size() < 2) return false;
    if (left_bytes > std::accumulate(free_.begin(), free_.end(), std::int64_t{0})) return false;
    return gather_for(left, stop);
  }

  [[nodiscard]] std::vector<std::int32_t> device_of() const {
    std::vector<std::int32_t> result(bytes_.size());
    for (std::size_t device = 0; device < on_device_.size(); ++device) {
      for (const std::size_t piece : on_device_[device]) {
        result[piece] = static_cast<std::int32_t>(device);
      }
    }
    return result;
  }

 private:
  [[nodiscard]] bool larger(std::size_t a, std::size_t b) const {
    return std::pair(bytes_[a], a) > std::pair(bytes_[b], b);
  }

  bool gather_for(const std::vector<std::size_t>& left, const StopCheck& stop) {
    std::int64_t steps = kRepacks + kRepacksPerDevice * static_cast<std::int64_t>(free_.size());
    for (const std::size_t piece : left) {
      while (!place_where_it_fits(piece)) {
        if (--steps < 0 || (steps % kStepsPerCheck == 0 && stop.stop())) return false;
        gather_room();
      }
    }
    return true;
  }

  bool place_where_it_fits(std::size_t piece) {
    std::size_t best = free_.size();
    for (std::size_t device = 0; device < free_.size(); ++device) {
      if (free_[device] < bytes_[piece]) continue;
      if (best == free_.size() || free_[device] < free_[best]) best = device;
    }
    if (best == free_.size()) return false;
    free_[best] -= bytes_[piece];
    on_device_[best].push_back(piece);
    return true;
  }

  /// Two devices drawn at random and what they hold, largest first.
  struct Pair {
    std::size_t filled = 0;
    std::size_t other = 0;
    std::vector<std::size_t> pieces;
    std::int64_t bytes = 0;
  };

  /// The other device is mostly the one with most room.
  Pair draw_pair() {
    Pair pair;
    pair.other = rng_.below(kAnyDevice) == 0
                     ? rng_.below(free_.size())
                     : static_cast<std::size_t>(std::max_element(free_.begin(), free_.end()) -
                                                free_.begin());
    pair.filled = rng_.below(free_.size() - 1);
    if (pair.filled >= pair.other) ++pair.filled;
    for (const std::size_t device : {pair.filled, pair.other}) {
      pair.bytes += memory_bytes_ - free_[device];
      pair.pieces.insert(pair.pieces.end(), on_device_[device].begin(), on_device_[device].end());
    }
    std::sort(pair.pieces.begin(), pair.pieces.end(),
              [this](auto a, auto b) { return larger(a, b); });
    return pair;
  }

  /// Fills one device of a pair as far as the pieces of both can, and leaves the room to the other.
  /// Now and then a piece drawn at random has to stay out, which leads away from fills that no pair
  /// improves.
  void gather_room() {
    Pair pair = draw_pair();
    std::vector<std::size_t> stay;
    std::int64_t least = memory_bytes_ - free_[pair.filled];
    if (!pair.pieces.empty() && rng_.below(kStaysOut) == 0) {
      const auto drawn =
          pair.pieces.begin() + static_cast<std::ptrdiff_t>(rng_.below(pair.pieces.size()));
      stay.push_back(*drawn);
      pair.pieces.erase(drawn);
      least = pair.bytes - memory_bytes_;
    }
    std::vector<std::int64_t> bytes;
    for (const std::size_t piece : pair.pieces) bytes.push_back(bytes_[piece]);
    const auto nodes = kNodes + kNodesPerPiece * static_cast<std::int64_t>(bytes.size());
    const std::vector<std::size_t> chosen = fullest_subset(bytes, memory_bytes_, nodes);
    std::int64_t fill = 0;
    for (const std::size_t k : chosen) fill += bytes[k];
    if (fill < least) return;
    free_[pair.filled] = memory_bytes_ - fill;
    free_[pair.other] = memory_bytes_ - (pair.bytes - fill);
    on_device_[pair.filled].clear();
    auto next = chosen.begin();
    for (std::size_t k = 0; k < pair.pieces.size(); ++k) {
      const bool fills = next != chosen.end() && *next == k;
      if (fills) ++next;
      (fills ? on_device_[pair.filled] : stay).push_back(pair.pieces[k]);
    }
    on_device_[pair.other] = std::move(stay);
  }

  std::span<const std::int64_t> bytes_;
  std::int64_t memory_bytes_;
  std::vector<std::int64_t> free_;
  std::vector<std::vector<std::size_t>> on_device_;
  Rng rng_{0};
};

}  // namespace

std::optional<std::vector<std::int32_t>> pack_by_memory(std::span<const std::int64_t> bytes,
                                                        std::int32_t devices,
                                                        std::int64_t memory_bytes,
                                                        PackingEffort effort,
                                                        const StopCheck& stop) {
  Packing packing(bytes, devices, memory_bytes);
  if (!packing.run(effort, stop)) return std::nullopt;
  return packing.device_of();
}

}  // namespace neuroshard::search
