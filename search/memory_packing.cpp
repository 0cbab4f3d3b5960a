#include "search/memory_packing.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "search/feasibility.h"

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

/// Splits the `count` largest of `pieces` that can be split, of equal ones the later first; false
/// when there is none.
bool split_largest(const Workload& workload, std::size_t count, std::vector<Shard>& pieces) {
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    if (split_point(pieces[k].dim()) == 0) continue;
    order.emplace_back(shard_bytes(workload, shape_of(pieces[k])), k);
  }
  std::sort(order.rbegin(), order.rend());
  if (order.size() > count) order.resize(count);
  for (const auto& [bytes, k] : order) {
    Shard rest = pieces[k];
    pieces[k].column_end = pieces[k].column_begin + split_point(rest.dim());
    rest.column_begin = pieces[k].column_end;
    pieces.push_back(rest);
  }
  return !order.empty();
}

/// Devices for `pieces`, which are split until there are some; false when there are none.
bool pack_columns(const Workload& workload, std::int32_t devices, std::int64_t memory_bytes,
                  const StopCheck& stop, std::vector<Shard>& pieces) {
  for (std::size_t count = 1;; count *= 2) {
    std::vector<std::int64_t> bytes;
    for (const Shard& piece : pieces) bytes.push_back(shard_bytes(workload, shape_of(piece)));
    if (const auto device_of = pack_by_memory(bytes, devices, memory_bytes, stop)) {
      for (std::size_t k = 0; k < pieces.size(); ++k) pieces[k].device = (*device_of)[k];
      return true;
    }
    if (stop.stop() || !split_largest(workload, count, pieces)) return false;
  }
}

/// All tables in the order in which they are to go over all devices.
struct SpreadOrder {
  std::vector<std::int32_t> tables;
  std::size_t must = 0;  ///< the first of them: their finest pieces fit no device
  std::size_t may = 0;   ///< these and more: the others have too few rows
};

/// Each group largest first. Nothing when a table has to be spread and cannot be.
std::optional<SpreadOrder> spread_order(const Problem& problem) {
  enum Group { kMust, kMay, kCannot };
  std::vector<std::tuple<Group, std::int64_t, std::int32_t>> order;
  SpreadOrder result;
  for (std::size_t index = 0; index < problem.workload.tables.size(); ++index) {
    const Table& table = problem.workload.tables[index];
    const auto id = static_cast<std::int32_t>(index);
    const bool fits = shard_bytes(problem.workload, {id, table.rows, finest_dim(table.dim)}) <=
                      problem.cluster.memory_bytes;
    const bool spreads = even_block(table.rows, problem.cluster.devices) > 0;
    if (!fits && !spreads) return std::nullopt;
    if (!fits) ++result.must;
    if (spreads) ++result.may;
    order.emplace_back(!fits ? kMust : spreads ? kMay : kCannot, -table_bytes(table), id);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [group, bytes, table] : order) result.tables.push_back(table);
  return result;
}

/// The plan with the first `count` of all tables over all devices and the others in columns, if
/// there is one.
std::optional<Plan> spread_first(const Problem& problem, std::span<const std::int32_t> tables,
                                 std::size_t count, const StopCheck& stop) {
  const Workload& workload = problem.workload;
  const std::int32_t devices = problem.cluster.devices;
  Plan plan{devices, {}};
  std::int64_t memory = problem.cluster.memory_bytes;
  for (std::size_t k = 0; k < count; ++k) {
    const Shard whole = whole_table(workload, tables[k], 0);
    const std::int64_t block = even_block(whole.row_end, devices);
    memory -= shard_bytes(workload, {whole.table, block, whole.dim()});
    if (memory < 0) return std::nullopt;
    for (std::int32_t device = 0; device < devices; ++device) {
      plan.shards.push_back(block_on(whole, block, device));
    }
  }
  std::vector<Shard> rest;
  for (std::size_t k = count; k < tables.size(); ++k) {
    rest.push_back(whole_table(workload, tables[k], 0));
  }
  if (!pack_columns(workload, devices, memory, stop, rest)) return std::nullopt;
  plan.shards.insert(plan.shards.end(), rest.begin(), rest.end());
  return plan;
}

}  // namespace

std::optional<std::vector<std::int32_t>> pack_by_memory(std::span<const std::int64_t> bytes,
                                                        std::int32_t devices,
                                                        std::int64_t memory_bytes,
                                                        const StopCheck& stop) {
  Packing packing(bytes, devices, memory_bytes);
  if (!packing.run(stop)) return std::nullopt;
  return std::move(packing).device_of();
}

std::optional<Plan> plan_by_memory(const Problem& problem, const StopCheck& stop) {
  std::vector<std::int32_t> tables(problem.workload.tables.size());
  std::iota(tables.begin(), tables.end(), 0);
  return spread_first(problem, tables, 0, stop);
}

std::optional<Plan> spread_by_memory(const Problem& problem, const StopCheck& stop) {
  const std::optional<SpreadOrder> order = spread_order(problem);
  if (!order) return std::nullopt;
  std::size_t too_few = 0;
  std::size_t count = order->must;
  std::optional<Plan> plan = spread_first(problem, order->tables, count, stop);
  for (std::size_t step = 1; !plan && count < order->may && !stop.stop(); step *= 2) {
    too_few = count;
    count = std::min(order->may, order->must + step);
    plan = spread_first(problem, order->tables, count, stop);
  }
  // Row-wise tables are dear in the exchanges: no more of them than it takes.
  while (plan && count > order->must && count - too_few > 1 && !stop.stop()) {
    const std::size_t middle = (too_few + count) / 2;
    std::optional<Plan> fewer = spread_first(problem, order->tables, middle, stop);
    if (fewer) plan = std::move(fewer);
    (fewer ? count : too_few) = middle;
  }
  return plan;
}

}  // namespace neuroshard::search
