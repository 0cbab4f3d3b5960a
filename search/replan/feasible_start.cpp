#include "search/replan/feasible_start.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/bytes.h"
#include "engine/core/plan_bytes.h"
#include "search/feasibility.h"
#include "search/piece_sizes.h"

namespace neuroshard::search {
namespace {

class Start {
 public:
  Start(const Problem& problem, const Plan& now, bool whole_tables)
      : workload_(problem.workload),
        space_(problem.space),
        memory_bytes_(problem.cluster.memory_bytes),
        whole_tables_(whole_tables),
        plan_(now),
        bytes_(device_bytes(problem.workload, now, problem.cluster.buffers)),
        holders_(problem.workload.tables.size()) {
    for (const Shard& shard : now.shards) holders_of(shard).insert(shard.device);
  }

  Status clear_devices() {
    for (std::size_t device = 0; device < bytes_.size(); ++device) {
      while (bytes_[device] > memory_bytes_) {
        const auto from = static_cast<std::int32_t>(device);
        if (Shard* const shard = cheapest_to_move(from)) {
          move(*shard);
        } else if (!split_on(from)) {
          return too_full(device);
        }
      }
    }
    return {};
  }

  Status place_missing() {
    std::vector<std::int32_t> missing = missing_tables(workload_, plan_);
    std::stable_sort(missing.begin(), missing.end(), [&](std::int32_t a, std::int32_t b) {
      return bytes_of(space_.whole_on(0, a)) > bytes_of(space_.whole_on(0, b));
    });
    for (const std::int32_t table : missing) {
      if (place(space_.whole_on(0, table))) continue;
      const AllowedSharding& allowed = space_.of(table).sharding;
      const std::string why = allowed.whole || allowed.columns
                                  ? "no devices have room for it beside the others"
                                  : "its sharding allows neither whole nor columns";
      return infeasible(table_label(workload_, table) + ": is not in the plan, and " + why);
    }
    return {};
  }

  Plan plan() {
    canonicalize(plan_);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const Table& table_of(const Shard& shard) const {
    return workload_.tables[static_cast<std::size_t>(shard.table)];
  }
  std::set<std::int32_t>& holders_of(const Shard& shard) {
    return holders_[static_cast<std::size_t>(shard.table)];
  }
  [[nodiscard]] std::int64_t bytes_of(const Shard& shard) const {
    return space_.bytes(shape_of(shard));
  }
  [[nodiscard]] bool is_whole(const Shard& shard) const {
    return shard.dim() == table_of(shard).dim;
  }

  void take(const Shard& shard) {
    bytes_[static_cast<std::size_t>(shard.device)] += bytes_of(shard);
    holders_of(shard).insert(shard.device);
  }

  /// The device with most room, where that is enough.
  std::optional<std::int32_t> taker_of(const Shard& shard) {
    std::optional<std::int32_t> taker;
    for (std::int32_t device = 0; device < std::ssize(bytes_); ++device) {
      if (!space_.of(shard.table).devices.has(device) || holders_of(shard).contains(device))
        continue;
      const std::int64_t own = bytes_[static_cast<std::size_t>(device)];
      if (!taker || own < bytes_[static_cast<std::size_t>(*taker)]) taker = device;
    }
    if (taker && bytes_[static_cast<std::size_t>(*taker)] > memory_bytes_ - bytes_of(shard)) {
      return std::nullopt;
    }
    return taker;
  }

  /// REQUIRES a taker.
  void move(Shard& shard) {
    const std::int32_t taker = *taker_of(shard);
    bytes_[static_cast<std::size_t>(shard.device)] -= bytes_of(shard);
    holders_of(shard).erase(shard.device);
    shard.device = taker;
    take(shard);
  }

  /// Some columns of the device's largest shard go to another; false where that is of none.
  bool split_on(std::int32_t device) {
    Shard* largest = nullptr;
    for (Shard& shard : plan_.shards) {
      if (shard.device != device || !part_to_move(shard)) continue;
      if (largest == nullptr || bytes_of(shard) > bytes_of(*largest)) largest = &shard;
    }
    if (largest == nullptr) return false;
    Shard part = *part_to_move(*largest);
    bytes_[static_cast<std::size_t>(device)] -= bytes_of(*largest);
    largest->column_end = part.column_begin;
    take(*largest);
    part.device = *taker_of(part);
    take(part);
    plan_.shards.push_back(part);
    return true;
  }

  /// The last half of its columns, or half of those and so on, that another device has room for:
  /// the smallest that is enough for its own, or else the largest.
  std::optional<Shard> part_to_move(Shard shard) {
    const std::int64_t excess = bytes_[static_cast<std::size_t>(shard.device)] - memory_bytes_;
    std::optional<Shard> part;
    while (may_split(shard)) {
      shard = rest_of(shard);
      if (part && bytes_of(shard) < excess) break;
      if (taker_of(shard)) part = shard;
    }
    return part;
  }

  [[nodiscard]] bool may_split(const Shard& shard) const {
    const TableSpace& own = space_.of(shard.table);
    return !whole_tables_ && own.sharding.columns && shard.rows() == own.table->rows &&
           split_point(own, shard.dim()) > 0;
  }
  /// The second half of its columns.
  [[nodiscard]] Shard rest_of(Shard shard) const {
    shard.column_begin += split_point(space_.of(shard.table), shard.dim());
    return shard;
  }

  /// Of what could move from the device, the smallest that is enough, or else the largest.
  Shard* cheapest_to_move(std::int32_t device) {
    const std::int64_t excess = bytes_[static_cast<std::size_t>(device)] - memory_bytes_;
    Shard* best = nullptr;
    std::int64_t least = 0;
    for (Shard& shard : plan_.shards) {
      if (shard.device != device || shard.rows() != table_of(shard).rows) continue;
      if (whole_tables_ && !is_whole(shard)) continue;
      const std::int64_t bytes = bytes_of(shard);
      const bool enough = bytes >= excess;
      const bool better = best == nullptr || (enough ? least < excess || bytes < least
                                                     : bytes > least && least < excess);
      if (!better || bytes == 0 || !taker_of(shard)) continue;
      best = &shard;
      least = bytes;
    }
    return best;
  }

  [[nodiscard]] Status too_full(std::size_t device) const {
    return infeasible("device " + std::to_string(device) + " holds " +
                      format_bytes_apart(bytes_[device], memory_bytes_) + ", devices have " +
                      format_bytes_apart(memory_bytes_, bytes_[device]) +
                      ", and no others have room for what is too much");
  }

  /// The piece on a device, or its halves on some; false, with some of them placed, where that is
  /// not possible.
  bool place(Shard piece) {
    const AllowedSharding& allowed = space_.of(piece.table).sharding;
    const bool may_be = is_whole(piece) ? allowed.whole || bytes_.size() == 1 : allowed.columns;
    const std::optional<std::int32_t> taker = may_be ? taker_of(piece) : std::nullopt;
    if (taker) {
      piece.device = *taker;
      take(piece);
      plan_.shards.push_back(piece);
      return true;
    }
    if (!may_split(piece)) return false;
    const Shard rest = rest_of(piece);
    piece.column_end = rest.column_begin;
    return place(piece) && place(rest);
  }

  const Workload& workload_;
  const SearchSpace& space_;
  const std::int64_t memory_bytes_;
  const bool whole_tables_;
  Plan plan_;
  std::vector<std::int64_t> bytes_;              ///< by device
  std::vector<std::set<std::int32_t>> holders_;  ///< devices, by table
};

}  // namespace

Result<Plan> feasible_start(const Problem& problem, const Plan& now, bool whole_tables) {
  Start start(problem, now, whole_tables);
  NEUROSHARD_RETURN_IF_ERROR(start.clear_devices());
  NEUROSHARD_RETURN_IF_ERROR(start.place_missing());
  return start.plan();
}

}  // namespace neuroshard::search
