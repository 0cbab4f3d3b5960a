#include "search/packing/plan_packing.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "search/feasibility.h"
#include "search/packing/memory_packing.h"
#include "search/piece_sizes.h"

namespace neuroshard::search {
namespace {

/// A shard that may be split further: by its columns, or, with `row_parts`, by its rows.
struct Piece {
  const SearchSpace* space = nullptr;
  Shard shard;
  std::int32_t row_parts = 0;  ///< pieces that halving its rows may still make; 0: columns

  [[nodiscard]] bool divisible() const {
    return row_parts == 0 ? split_point(space->of(shard.table), shard.dim()) > 0
                          : row_parts > 1 && shard.rows() > 1;
  }
  /// Becomes its first part; returns the other. REQUIRES divisible().
  Piece split() {
    Piece rest = *this;
    if (row_parts == 0) {
      shard.column_end = shard.column_begin + split_point(space->of(shard.table), shard.dim());
      rest.shard.column_begin = shard.column_end;
    } else {
      shard.row_end = shard.row_begin + upper_half(shard.rows());
      rest.shard.row_begin = shard.row_end;
      row_parts /= 2;
      rest.row_parts = row_parts;
    }
    return rest;
  }
};

std::int64_t bytes_of(const Piece& piece) { return piece.space->bytes(shape_of(piece.shard)); }

/// Splits the `count` largest of `pieces` that can be split, of equal ones the later first; false
/// when there is none.
bool split_largest(std::size_t count, std::vector<Piece>& pieces) {
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    if (!pieces[k].divisible()) continue;
    order.emplace_back(bytes_of(pieces[k]), k);
  }
  std::sort(order.rbegin(), order.rend());
  if (order.size() > count) order.resize(count);
  for (const auto& [bytes, k] : order) {
    Piece rest = pieces[k].split();
    pieces.push_back(rest);
  }
  return !order.empty();
}

/// Gives the pieces devices, the largest first, each where it leaves least room; what fits nowhere
/// is split and its parts come later. So only what does not fit is split. False, with `pieces` as
/// they were, where a piece that cannot be split fits nowhere.
bool pack_splitting(std::int32_t devices, std::int64_t memory_bytes, std::vector<Piece>& pieces) {
  const auto smaller = [](const Piece& a, const Piece& b) {
    return std::tuple(bytes_of(a), -a.shard.table, -a.shard.column_begin, -a.shard.row_begin) <
           std::tuple(bytes_of(b), -b.shard.table, -b.shard.column_begin, -b.shard.row_begin);
  };
  std::vector<Piece> left = pieces;
  std::make_heap(left.begin(), left.end(), smaller);
  std::vector<std::int64_t> free(static_cast<std::size_t>(devices), memory_bytes);
  std::vector<Piece> placed;
  while (!left.empty()) {
    std::pop_heap(left.begin(), left.end(), smaller);
    Piece piece = left.back();
    left.pop_back();
    const std::int64_t bytes = bytes_of(piece);
    const DeviceSet& allowed = piece.space->of(piece.shard.table).devices;
    std::int32_t best = -1;
    for (std::int32_t device = 0; device < devices; ++device) {
      const std::int64_t room = free[static_cast<std::size_t>(device)];
      if (room < bytes || !may_be_on(limit_of(allowed), device)) continue;
      if (best < 0 || room < free[static_cast<std::size_t>(best)]) best = device;
    }
    if (best >= 0) {
      free[static_cast<std::size_t>(best)] -= bytes;
      piece.shard.device = best;
      placed.push_back(piece);
      continue;
    }
    if (!piece.divisible()) return false;
    const Piece rest = piece.split();
    for (const Piece& part : {piece, rest}) {
      left.push_back(part);
      std::push_heap(left.begin(), left.end(), smaller);
    }
  }
  pieces = std::move(placed);
  return true;
}

/// Devices for `pieces`, which are split until there are some; false when there are none.
bool pack_pieces(std::int32_t devices, std::int64_t memory_bytes, const StopCheck& stop,
                 std::vector<Piece>& pieces) {
  if (pack_splitting(devices, memory_bytes, pieces)) return true;
  for (std::size_t count = 1;; count *= 2) {
    std::vector<PackedPiece> to_pack;
    for (const Piece& piece : pieces) {
      to_pack.push_back({bytes_of(piece), limit_of(piece.space->of(piece.shard.table).devices)});
    }
    // In between, splits do more in less time.
    const bool first_or_last =
        count == 1 || std::none_of(pieces.begin(), pieces.end(), std::mem_fn(&Piece::divisible));
    const PackingEffort effort = first_or_last ? PackingEffort::kThorough : PackingEffort::kGreedy;
    if (const auto device_of = pack_by_memory(to_pack, devices, memory_bytes, effort, stop)) {
      for (std::size_t k = 0; k < pieces.size(); ++k) pieces[k].shard.device = (*device_of)[k];
      return true;
    }
    if (stop.stop() || !split_largest(count, pieces)) return false;
  }
}

/// All tables in the order in which they are to go over all devices.
struct SpreadOrder {
  std::vector<std::int32_t> tables;
  std::vector<std::int32_t> replicated;  ///< not among them: these may only be whole on each device
  std::size_t must = 0;                  ///< the first of them: their finest pieces fit no device
  std::size_t may = 0;                   ///< these and more: the others have too few rows
};

/// Each group largest first. Nothing when a table has to be spread and cannot be.
std::optional<SpreadOrder> spread_order(const Problem& problem, const RowShapes& rows) {
  enum Group { kMust, kMay, kCannot };
  std::vector<std::tuple<Group, std::int64_t, std::int32_t>> order;
  SpreadOrder result;
  for (std::size_t index = 0; index < problem.space.tables.size(); ++index) {
    const TableSpace& table = problem.space.tables[index];
    const auto id = static_cast<std::int32_t>(index);
    const bool fits =
        std::min(finest_column_bytes(problem.space, id),
                 finest_half_bytes(problem.space, id, rows.halves)) <= problem.cluster.memory_bytes;
    const bool spreads = even_block(table, rows.blocks) > 0;
    if (!fits && !spreads) {
      if (!may_be_replicated(table) || rows.replicas < 2) return std::nullopt;
      result.replicated.push_back(id);
      continue;
    }
    if (!fits) ++result.must;
    if (spreads) ++result.may;
    order.emplace_back(!fits     ? kMust
                       : spreads ? kMay
                                 : kCannot,
                       -problem.space.whole_bytes(id), id);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [group, bytes, table] : order) result.tables.push_back(table);
  return result;
}

/// Plans with the first of some tables over all devices and the others in columns or halves of
/// rows.
class Packer {
 public:
  Packer(const Problem& problem, const SpreadOrder& order, std::int32_t halves,
         const StopCheck& stop)
      : problem_(problem), order_(order), tables_(order.tables), halves_(halves), stop_(stop) {}

  /// A plan with the first `count` tables over all devices, if there is one.
  [[nodiscard]] std::optional<Plan> spread_first(std::size_t count) const;

 private:
  [[nodiscard]] bool add_rest(std::size_t count, std::int64_t memory, bool finest,
                              Plan& plan) const;

  const Problem& problem_;
  const SpreadOrder& order_;
  std::span<const std::int32_t> tables_;
  std::int32_t halves_;
  const StopCheck& stop_;
};

/// Adds all but the first `count` tables. Their rows are halved where they have to be or, with
/// `finest`, wherever that makes the smaller pieces.
bool Packer::add_rest(std::size_t count, std::int64_t memory, bool finest, Plan& plan) const {
  const SearchSpace& space = problem_.space;
  std::vector<Piece> rest;
  bool halved = false;
  for (const std::int32_t table : tables_.subspan(count)) {
    const std::int64_t columns = finest_column_bytes(space, table);
    const bool finer = finest_half_bytes(space, table, halves_) < columns;
    const bool by_rows = finer && (finest || columns > memory);
    halved = halved || by_rows;
    Piece piece{&space, space.whole_on(0, table), by_rows ? halves_ : 0};
    if (!space.of(table).sharding.whole) {
      if (!piece.divisible()) return false;
      rest.push_back(piece.split());
    }
    rest.push_back(piece);
  }
  if (finest && !halved) return false;
  if (!pack_pieces(plan.devices, memory, stop_, rest)) return false;
  for (const Piece& piece : rest) plan.shards.push_back(piece.shard);
  return true;
}

std::optional<Plan> Packer::spread_first(std::size_t count) const {
  const std::int32_t devices = problem_.cluster.devices;
  Plan plan{devices, {}};
  std::int64_t memory = problem_.cluster.memory_bytes;
  for (const std::int32_t table : order_.replicated) {
    plan.shards.push_back(problem_.space.whole_on(kEveryDevice, table));
    memory -= problem_.space.bytes(shape_of(plan.shards.back()));
    if (memory < 0) return std::nullopt;
  }
  for (const std::int32_t table : tables_.first(count)) {
    const Shard whole = problem_.space.whole_on(0, table);
    const std::int64_t block = even_block(whole.row_end, devices);
    memory -= problem_.space.bytes(problem_.space.shape(table, block, whole.dim()));
    if (memory < 0) return std::nullopt;
    for (std::int32_t device = 0; device < devices; ++device) {
      plan.shards.push_back(block_on(whole, block, device));
    }
  }
  const bool fits =
      add_rest(count, memory, false, plan) || (halves_ > 1 && add_rest(count, memory, true, plan));
  return fits ? std::optional<Plan>(std::move(plan)) : std::nullopt;
}

}  // namespace

std::optional<Plan> plan_by_memory(const Problem& problem, const StopCheck& stop) {
  return plan_by_memory_with_blocks(problem, {}, stop);
}

Result<SearchResult> packed_instead(const Problem& problem, const StopCheck& patience,
                                    std::int64_t evaluations, bool stopped_early) {
  if (patience.cancelled()) return stopped_before_plan();
  if (std::optional<Plan> plan = plan_by_memory(problem, patience)) {
    return SearchResult{*std::move(plan), evaluations, stopped_early};
  }
  return patience.stop() ? stopped_before_plan() : no_arrangement(problem);
}

std::optional<Plan> plan_by_memory_with_blocks(const Problem& problem,
                                               std::span<const std::int32_t> blocks,
                                               const StopCheck& stop) {
  SpreadOrder order;
  order.tables.resize(problem.workload.tables.size());
  std::iota(order.tables.begin(), order.tables.end(), 0);
  std::stable_partition(order.tables.begin(), order.tables.end(), [&](std::int32_t table) {
    return std::find(blocks.begin(), blocks.end(), table) != blocks.end();
  });
  return Packer(problem, order, 1, stop).spread_first(blocks.size());
}

std::optional<Plan> plan_by_memory_with_rows(const Problem& problem, const RowShapes& rows,
                                             const StopCheck& stop) {
  const std::optional<SpreadOrder> order = spread_order(problem, rows);
  if (!order) return std::nullopt;
  const Packer packer(problem, *order, rows.halves, stop);
  std::size_t too_few = 0;
  std::size_t count = order->must;
  std::optional<Plan> plan = packer.spread_first(count);
  for (std::size_t step = 1; !plan && count < order->may && !stop.stop(); step *= 2) {
    too_few = count;
    count = std::min(order->may, order->must + step);
    plan = packer.spread_first(count);
  }
  // Row-wise tables are dear in the exchanges: no more of them than it takes.
  while (plan && count > order->must && count - too_few > 1 && !stop.stop()) {
    const std::size_t middle = (too_few + count) / 2;
    std::optional<Plan> fewer = packer.spread_first(middle);
    if (fewer) plan = std::move(fewer);
    (fewer ? count : too_few) = middle;
  }
  return plan;
}

}  // namespace neuroshard::search
