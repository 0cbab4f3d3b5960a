#include "search/packing/memory_packing.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

namespace neuroshard::search {
namespace {

constexpr std::int64_t kStepsPerPiece = 100;
constexpr std::int64_t kStepsPerCheck = 16;  // of the clock

class Packing {
 public:
  Packing(std::span<const std::int64_t> bytes, std::int32_t devices, std::int64_t memory_bytes)
      : bytes_(bytes),
        free_(static_cast<std::size_t>(devices), memory_bytes),
        on_device_(free_.size()),
        device_of_(bytes.size(), -1) {}

  bool run(const StopCheck& stop) {
    for (std::size_t piece = 0; piece < bytes_.size(); ++piece) wait(piece);
    std::int64_t steps = kStepsPerPiece * static_cast<std::int64_t>(bytes_.size());
    for (; !waiting_.empty() && steps > 0; --steps) {
      if (steps % kStepsPerCheck == 0 && stop.stop()) return false;
      const std::size_t piece = waiting_.top().second;
      waiting_.pop();
      if (!place_where_it_fits(piece) && !make_room(piece)) return false;
    }
    return waiting_.empty();
  }

  [[nodiscard]] std::vector<std::int32_t> device_of() && { return std::move(device_of_); }

 private:
  /// Pieces of one device that would make room, and their bytes.
  struct Eviction {
    std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
    std::size_t device = 0;
    std::vector<std::size_t> pieces;
  };

  void wait(std::size_t piece) { waiting_.emplace(bytes_[piece], piece); }

  void put(std::size_t piece, std::size_t device) {
    free_[device] -= bytes_[piece];
    device_of_[piece] = static_cast<std::int32_t>(device);
    // In ascending bytes.
    std::vector<std::size_t>& pieces = on_device_[device];
    pieces.insert(std::lower_bound(pieces.begin(), pieces.end(), piece,
                                   [this](std::size_t a, std::size_t b) {
                                     return std::pair(bytes_[a], a) < std::pair(bytes_[b], b);
                                   }),
                  piece);
  }

  bool place_where_it_fits(std::size_t piece) {
    std::size_t best = free_.size();
    for (std::size_t device = 0; device < free_.size(); ++device) {
      if (free_[device] < bytes_[piece]) continue;
      if (best == free_.size() || free_[device] < free_[best]) best = device;
    }
    if (best == free_.size()) return false;
    put(piece, best);
    return true;
  }

  /// The least that has to go from `device`: one piece, or two, smaller than `piece` together.
  void consider(std::size_t piece, std::size_t device, Eviction& best) const {
    const std::int64_t needed = bytes_[piece] - free_[device];
    const std::int64_t most = std::min(bytes_[piece], best.bytes) - 1;
    const std::vector<std::size_t>& pieces = on_device_[device];
    for (const std::size_t other : pieces) {
      if (bytes_[other] < needed) continue;
      if (bytes_[other] <= most) best = {bytes_[other], device, {other}};
      break;
    }
    std::size_t high = pieces.size();
    for (std::size_t low = 0; low < high; ++low) {
      while (high > low + 1 && bytes_[pieces[high - 1]] + bytes_[pieces[low]] >= needed) {
        const std::int64_t both = bytes_[pieces[high - 1]] + bytes_[pieces[low]];
        if (both < std::min(bytes_[piece], best.bytes)) {
          best = {both, device, {pieces[low], pieces[high - 1]}};
        }
        --high;
      }
    }
  }

  bool make_room(std::size_t piece) {
    Eviction best;
    for (std::size_t device = 0; device < free_.size(); ++device) consider(piece, device, best);
    if (best.pieces.empty()) return false;
    for (const std::size_t other : best.pieces) {
      std::erase(on_device_[best.device], other);
      free_[best.device] += bytes_[other];
      wait(other);
    }
    put(piece, best.device);
    return true;
  }

  std::span<const std::int64_t> bytes_;
  std::vector<std::int64_t> free_;
  std::vector<std::vector<std::size_t>> on_device_;
  std::vector<std::int32_t> device_of_;
  std::priority_queue<std::pair<std::int64_t, std::size_t>> waiting_;
};

}  // namespace

std::optional<std::vector<std::int32_t>> pack_by_memory(std::span<const std::int64_t> bytes,
                                                        std::int32_t devices,
                                                        std::int64_t memory_bytes,
                                                        const StopCheck& stop) {
  Packing packing(bytes, devices, memory_bytes);
  if (!packing.run(stop)) return std::nullopt;
  return std::move(packing).device_of();
}

}  // namespace neuroshard::search
