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
  Packing(std::span<const PackedPiece> pieces, std::int32_t devices, std::int64_t memory_bytes)
      : pieces_(pieces),
        memory_bytes_(memory_bytes),
        free_(static_cast<std::size_t>(devices), memory_bytes),
        on_device_(free_.size()) {}

  bool run(PackingEffort effort, const StopCheck& stop) {
    std::vector<std::size_t> order(pieces_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [this](auto a, auto b) { return larger(a, b); });
    std::stable_partition(order.begin(), order.end(),
                          [this](auto piece) { return pieces_[piece].only_on != nullptr; });
    std::vector<std::size_t> left;
    std::int64_t left_bytes = 0;
    for (const std::size_t piece : order) {
      if (place_where_it_fits(piece)) continue;
      if (pieces_[piece].bytes > memory_bytes_) return false;
      left.push_back(piece);
      left_bytes += pieces_[piece].bytes;
    }
    if (left.empty()) return true;
    if (effort == PackingEffort::kGreedy || free_.size() < 2) return false;
    if (left_bytes > std::accumulate(free_.begin(), free_.end(), std::int64_t{0})) return false;
    return gather_for(left, stop);
  }

  [[nodiscard]] std::vector<std::int32_t> device_of() const {
    std::vector<std::int32_t> result(pieces_.size());
    for (std::size_t device = 0; device < on_device_.size(); ++device) {
      for (const std::size_t piece : on_device_[device]) {
        result[piece] = static_cast<std::int32_t>(device);
      }
    }
    return result;
  }

 private:
  [[nodiscard]] bool larger(std::size_t a, std::size_t b) const {
    return std::pair(pieces_[a].bytes, a) > std::pair(pieces_[b].bytes, b);
  }

  [[nodiscard]] bool goes_on(std::size_t piece, std::size_t device) const {
    return may_be_on(pieces_[piece].only_on, static_cast<std::int32_t>(device));
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
      if (free_[device] < pieces_[piece].bytes || !goes_on(piece, device)) continue;
      if (best == free_.size() || free_[device] < free_[best]) best = device;
    }
    if (best == free_.size()) return false;
    free_[best] -= pieces_[piece].bytes;
    on_device_[best].push_back(piece);
    return true;
  }

  /// One of two devices whose pieces are dealt out anew.
  struct Side {
    std::size_t device = 0;
    std::vector<std::size_t> stays;  ///< pieces that may not be on the other
    std::int64_t room = 0;           ///< beside those
  };

  /// Two devices drawn at random and what may be on either of them, largest first.
  struct Pair {
    Side filled;
    Side other;
    std::vector<std::size_t> pieces;
    std::int64_t bytes = 0;
  };

  [[nodiscard]] Side side_of(std::size_t here, std::size_t there, Pair& pair) const {
    Side side{here, {}, free_[here]};
    for (const std::size_t piece : on_device_[here]) {
      if (!goes_on(piece, there)) {
        side.stays.push_back(piece);
        continue;
      }
      pair.pieces.push_back(piece);
      pair.bytes += pieces_[piece].bytes;
      side.room += pieces_[piece].bytes;
    }
    return side;
  }

  /// The other device is mostly the one with most room.
  Pair draw_pair() {
    Pair pair;
    const std::size_t other =
        rng_.below(kAnyDevice) == 0
            ? rng_.below(free_.size())
            : static_cast<std::size_t>(std::max_element(free_.begin(), free_.end()) -
                                       free_.begin());
    std::size_t filled = rng_.below(free_.size() - 1);
    if (filled >= other) ++filled;
    pair.filled = side_of(filled, other, pair);
    pair.other = side_of(other, filled, pair);
    std::sort(pair.pieces.begin(), pair.pieces.end(),
              [this](auto a, auto b) { return larger(a, b); });
    return pair;
  }

  /// Fills one device of a pair as far as the pieces of both can, and leaves the room to the other.
  /// Now and then a piece drawn at random has to stay out, which leads away from fills that no pair
  /// improves.
  void gather_room() {
    Pair pair = draw_pair();
    auto& [filled, other, pieces, all_bytes] = pair;
    std::vector<std::size_t> stay;
    std::int64_t least = filled.room - free_[filled.device];
    if (!pieces.empty() && rng_.below(kStaysOut) == 0) {
      const auto drawn = pieces.begin() + static_cast<std::ptrdiff_t>(rng_.below(pieces.size()));
      stay.push_back(*drawn);
      pieces.erase(drawn);
      least = all_bytes - other.room;
    }
    std::vector<std::int64_t> bytes;
    for (const std::size_t piece : pieces) bytes.push_back(pieces_[piece].bytes);
    const auto nodes = kNodes + kNodesPerPiece * static_cast<std::int64_t>(bytes.size());
    const std::vector<std::size_t> chosen = fullest_subset(bytes, filled.room, nodes);
    std::int64_t fill = 0;
    for (const std::size_t k : chosen) fill += bytes[k];
    if (fill < least) return;
    auto next = chosen.begin();
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      const bool fills = next != chosen.end() && *next == k;
      if (fills) ++next;
      (fills ? filled.stays : stay).push_back(pieces[k]);
    }
    other.stays.insert(other.stays.end(), stay.begin(), stay.end());
    settle(std::move(filled), fill);
    settle(std::move(other), all_bytes - fill);
  }

  /// The device has what stays there now, so many bytes of it new.
  void settle(Side side, std::int64_t bytes) {
    free_[side.device] = side.room - bytes;
    on_device_[side.device] = std::move(side.stays);
  }

  std::span<const PackedPiece> pieces_;
  std::int64_t memory_bytes_;
  std::vector<std::int64_t> free_;
  std::vector<std::vector<std::size_t>> on_device_;
  Rng rng_{0};
};

}  // namespace

std::optional<std::vector<std::int32_t>> pack_by_memory(std::span<const PackedPiece> pieces,
                                                        std::int32_t devices,
                                                        std::int64_t memory_bytes,
                                                        PackingEffort effort,
                                                        const StopCheck& stop) {
  Packing packing(pieces, devices, memory_bytes);
  if (!packing.run(effort, stop)) return std::nullopt;
  return packing.device_of();
}

}  // namespace neuroshard::search
