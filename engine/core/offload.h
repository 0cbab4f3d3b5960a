#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"

namespace neuroshard {

/// A table that a plan has in host memory.
struct OffloadedTable {
  std::int32_t table = 0;  ///< index into Workload::tables
  TableKernel kernel;      ///< of all its shards

  friend bool operator==(const OffloadedTable&, const OffloadedTable&) = default;
};

/// Those of a plan, by table, each once: files list them so.
std::vector<OffloadedTable> offloaded_tables(const Plan& plan);

/// Whether the plan has any.
bool has_offloaded(const Plan& plan);

/// Gives the shards of those tables their kernels. Errors: kInvalidInput, naming the entry, where
/// they are not in order and each once, where a kernel is fused or not valid, and where a table has
/// no shards or is on every device.
Status give_kernels(std::span<const OffloadedTable> offloaded, Plan& plan);

/// kInvalidInput where shard `index` of a plan is in host memory and on every device.
Status check_offloaded_place(const Shard& shard, std::size_t index);

/// Bytes of a workload's tables in all places that they may have, as far as they are counted: all
/// of them on devices, and of those that are added what they have in host memory and their caches.
/// So large tables are refused before sums of their bytes are wrong.
class OffloadedBytes {
 public:
  /// With so many `more`. REQUIRES a valid workload whose tables are below 2^63 bytes with those.
  explicit OffloadedBytes(const Workload& workload, std::int64_t more = 0);
  /// kInvalidInput, naming `where`, unless all bytes are known to be below 2^63 with those that the
  /// table may have there.
  Status add(std::size_t table, std::string_view where);

 private:
  const Workload& workload_;
  std::int64_t bytes_;
};

/// kInvalidInput when tables are so large that bytes of a plan with all of them in host memory, and
/// the caches that they may have, are not known to be below 2^63 with so many `more`. REQUIRES a
/// valid workload whose tables are below that with those.
Status check_offloaded_bytes(const Workload& workload, std::int64_t more = 0);

/// kInvalidInput, naming the first table that the plan has in host memory, with `why` that is
/// refused.
Status check_none_offloaded(const Plan& plan, std::string_view why);

}  // namespace neuroshard
