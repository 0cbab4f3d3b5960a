#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "search/problem.h"

namespace neuroshard {

/// In how many blocks of equal width the table may be, each on a device of its own, as far as its
/// sharding and its devices allow: ascending, 1 first where it may be whole on one or, with
/// `replicas`, on all, or with `rows` dealt out to all.
std::vector<std::int32_t> possible_parts(const search::TableSpace& own, std::int32_t devices,
                                         bool replicas, bool rows = false);

/// A workload whose tables are blocks of columns of another one's, each whole on a device; or all
/// columns, whose rows may be dealt out.
struct PartedWorkload {
  /// What table of `workload` is which block, of how many.
  struct Block {
    std::int32_t table = 0;
    std::int32_t index = 0;
    std::int32_t count = 1;
  };
  Workload workload;
  std::vector<Block> blocks;
};

/// As a turn: the table's blocks may be on any of its devices.
inline constexpr std::int32_t kNoTurn = -1;

/// Table i in parts[i] blocks. Where turns[i] is not kNoTurn, no two of them can meet on a device:
/// the table's devices are dealt out to its blocks, the first to block turns[i] % parts[i].
/// REQUIRES possible_parts().
PartedWorkload in_parts(const search::Problem& problem, std::span<const std::int32_t> parts,
                        std::span<const std::int32_t> turns);

/// A plan of the parted workload as one of the workload itself.
Plan plan_of_blocks(const Workload& workload, const PartedWorkload& parted, const Plan& plan);

/// A plan whose tables have one block on a device, all equally wide, and of their rows all or those
/// of a modulo (row_blocks.h), one after the other on devices in order.
struct EqualColumnsPlan {
  Plan plan;
  std::vector<std::int32_t> unequal;  ///< tables that have not, in order: their shards are missing
};

/// The plan, each table's columns laid out anew so that what a device has of them is one block, and
/// even blocks of rows as those of a modulo. Unequal are tables whose blocks would not be equally
/// wide, have other rows, or on other devices, or would be a whole table that may not be whole.
/// REQUIRES a valid plan.
EqualColumnsPlan with_equal_columns(const Workload& workload, const Plan& plan);

}  // namespace neuroshard
