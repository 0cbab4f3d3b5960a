#pragma once

#include <bit>
#include <cstdint>

#include "engine/core/offload.h"
#include "engine/core/plan.h"

namespace neuroshard::signature {

/// FNV-1a over 64-bit words: of plans, all that makes one differ from another.
class PlanHash {
 public:
  void add(std::int64_t word) {
    for (int byte = 0; byte < 8; ++byte) {
      value_ =
          (value_ ^ (static_cast<std::uint64_t>(word) >> (8 * byte) & 0xff)) * 0x100000001b3ULL;
    }
  }
  /// REQUIRES a plan in canonical order: plans that differ in the order of shards are the same.
  void add(const Plan& plan) {
    for (const std::int64_t word : {std::int64_t{plan.devices}, count(plan.shards)}) add(word);
    for (const Shard& shard : plan.shards) {
      for (const std::int64_t word : {std::int64_t{shard.table}, shard.row_begin, shard.row_end,
                                      std::int64_t{shard.column_begin},
                                      std::int64_t{shard.column_end}, std::int64_t{shard.device}}) {
        add(word);
      }
    }
    const std::vector<OffloadedTable> offloaded = offloaded_tables(plan);
    add(count(offloaded));
    for (const OffloadedTable& table : offloaded) {
      add(table.table);
      add(static_cast<std::int64_t>(table.kernel.kernel));
      add(std::bit_cast<std::int64_t>(table.kernel.load_factor));
    }
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  template <typename List>
  static std::int64_t count(const List& list) {
    return static_cast<std::int64_t>(list.size());
  }

  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace neuroshard::signature
