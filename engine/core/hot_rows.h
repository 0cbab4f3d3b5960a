#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/reuse_histogram.h"
#include "engine/core/status.h"
#include "engine/core/step_memory.h"
#include "engine/core/table.h"

// Hot rows: those of a table that a batch looks up most often are on every device beside the
// table's shards. A device looks them up for its own samples, so their outputs are not exchanged;
// their gradients are added up over all devices. The shards keep all rows, and are looked up for
// the others, the cold ones. (OPER, USENIX ATC 2024; HugeCTR's hybrid embedding.)

namespace neuroshard {

/// So many of a table's rows, the hottest.
struct HotRows {
  std::int32_t table = 0;  ///< index into Workload::tables
  std::int64_t rows = 0;

  friend bool operator==(const HotRows&, const HotRows&) = default;
};

/// Their shape on a device that holds them: all columns.
inline ShardShape hot_shape(const Table& table, const HotRows& hot) {
  return {.table = hot.table,
          .rows = hot.rows,
          .dim = table.dim,
          .replicated = true,
          .kernel = {.hot_rows = hot.rows}};
}

/// Those of a plan, by table, each table once.
std::vector<HotRows> hot_rows(const Plan& plan);

/// Gives the shards of those tables their hot rows. Errors: kInvalidInput, naming the entry, where
/// rows are below 1, and where a table has no shards or is on every device.
Status give_hot_rows(std::span<const HotRows> hot, Plan& plan);

/// kInvalidInput, naming the first table with hot rows, with `why` that is refused.
Status check_no_hot_rows(const Plan& plan, std::string_view why);

/// kInvalidInput where a table has more hot rows than all but one, or bytes are not known to be
/// below 2^63. REQUIRES a valid workload; tables that it lacks are passed over.
Status check_hot_rows(const Workload& workload, const Plan& plan);

/// What so many hot rows take in the memory of every device: weights and optimizer states, the
/// gradients that are added up, in fp32, and the buffers of a device's own samples, where they
/// count. REQUIRES a valid table, and rows of it.
std::int64_t hot_row_bytes(const Table& table, std::int64_t rows, const StepMemory& step = {});

/// Share of bags, of so many lookups in the mean, with a lookup that is not among the hot ones.
/// Lookups are taken to be independent: of l, all are hot with the chance hot_share^l. Those of
/// real bags are less so, which makes that rather too many.
double cold_bag_share(double lookups, double hot_share, BagLengths lengths);

/// How hot rows part the lookups of a batch like the one that the table was counted in, with the
/// hot rows of that one.
struct LookupParts {
  /// Of the lookups. Rows that one batch looks up much have had luck, too: by Good and Turing's
  /// estimate, rows that were looked up c times or more take as many of the next batch's lookups as
  /// rows that were looked up c + 1 times or more took of their own. So no hot rows take what rows
  /// that no batch has shown yet do.
  double hot_share = 0;
  double counted_share = 0;  ///< the same in the batch that was counted
  /// Of bags that are added up, how many have a cold row: cold_bag_share(). Where the bags were
  /// counted, that times what was counted over what cold_bag_share() says of that batch.
  double cold_bags = 1;
  double distinct = 0;      ///< rows that the batch looks up
  double hot_distinct = 0;  ///< hot ones of them
  ReuseHistogram hot{};     ///< of the hot rows that are looked up
  ReuseHistogram cold{};    ///< of the others
};

/// By the table's histogram, hottest rows first; where the last of them is within a bin, that is
/// taken to be all of one count. REQUIRES a valid table, 0 <= rows < table.rows.
LookupParts lookup_parts(const Table& table, std::int64_t rows, std::int64_t batch_size);

/// The table when its data has moved on: rows that are looked up have `kept` of what they have of
/// the next batch now, other rows the rest. REQUIRES a valid table, 0 <= kept <= 1.
Table moved_on(const Table& table, double kept, std::int64_t batch_size);

/// Milliseconds in which a device adds so many values of hot rows' sums to those that arrive of
/// cold ones, at the rate of its memory: the one is read, the other read and written.
double merge_ms(double values, double gbps);

/// So many rows are looked up at least `min_count` times in a batch.
struct HotLevel {
  std::int64_t rows = 0;
  std::int64_t min_count = 0;
};

/// Of each bin of the histogram but those looked up once, the hottest first: fewer rows than the
/// table has, more than the level before.
std::vector<HotLevel> hot_levels(const Table& table, std::int64_t batch_size);

/// How often the least hot of so many rows is looked up in a batch at least; 0 for a table without
/// a histogram, or more rows than it has looked up.
std::int64_t least_count(const Table& table, std::int64_t rows, std::int64_t batch_size);

}  // namespace neuroshard
