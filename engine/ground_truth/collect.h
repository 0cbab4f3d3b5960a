#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/core/progress.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/ground_truth/ground_truth.h"

namespace neuroshard {

/// What to collect. Everything but `samples`, `progress` and `cancel` is a setting of the data: a
/// directory is only resumed with the settings it was begun with.
struct CollectOptions {
  std::string output;               ///< directory; made when missing (its parent must exist)
  std::int64_t samples = 0;         ///< lines data.txt has at the end, those already there included
  std::int32_t max_dim = 128;       ///< a multiple of 4; dims are max_dim, its half, .. while / 4
  bool every_dim = false;           ///< compute: dims are all multiples of 4 up to max_dim instead
  std::int64_t batch_size = 65536;  ///< global
  std::uint64_t seed = 0;
  /// Where shards are drawn from a pool: compute sets have 1..max_tables, a device of a placement
  /// up to so many in the mean.
  std::int32_t max_tables = 15;
  /// Of compute sets: each has 1 to so many different shards, several times; 0: any number.
  std::int32_t max_distinct = 0;
  std::int64_t max_memory_bytes = std::int64_t{4} << 30;  ///< fp32 bytes of a set
  /// Every pool entry gets a twin that is one of 2 to this many parts of its rows; 1: none.
  std::int32_t row_parts = 1;
  /// Of the pool: LookupMix. Simulations alone know what is drawn.
  std::int32_t max_features = 1;
  double not_pooled = 0;
  std::int32_t devices = 4;  ///< comm
  /// Further settings to keep in collection.json and to compare on resume, by flag name, e.g.
  /// "threads", "timed-runs".
  std::map<std::string, std::string> settings;
  ProgressSink* progress = nullptr;     ///< not owned; may be null
  const CancelToken* cancel = nullptr;  ///< not owned; may be null
};

struct CollectReport {
  std::int64_t found = 0;           ///< samples that were there before
  std::int64_t added = 0;           ///< samples measured now
  std::int64_t repaired_bytes = 0;  ///< of a torn last line, cut off
  double seconds = 0;               ///< spent on `added`
};

/// Measures random table sets (NeuroShard, compute_bench.py): the pool is every table at every
/// dim, entry i + tables.size() * k has dim_choices()[k]; with row_parts the whole pool follows
/// once more as row shards (draw_row_parts()), which are measured as ranges of the table's rows and
/// described in the pool file as tables of that size. A set has uniformly 1..max_tables entries
/// with repetition, redrawn until its fp32 weights fit max_memory_bytes. Sample s is a
/// function of (seed, s) alone, so a resumed collection goes on with exactly the sets an
/// uninterrupted one would have measured. Writes collection.json and table_configs.json (the pool)
/// once, then appends one line per sample to data.txt: SIGKILL loses at most the current sample.
/// Errors: kInvalidInput for settings out of range or other settings than the directory's (the
/// first one that differs is named), kIoError (also when another process collects into it),
/// kCancelled (what is there stays valid).
Result<CollectReport> collect_compute(GroundTruth& truth, const std::vector<Table>& tables,
                                      const CollectOptions& options);

/// Measures random all-to-alls (NeuroShard, comm_bench.py): 10..59 tables of uniform dims, largest
/// first, each to a random device with probability p ~ U(0, 1) and else to the smallest sum; spread
/// s in 1..19, start times whole milliseconds in 0..s-1 shifted to a minimum of 0. Files, resuming
/// and errors as above.
Result<CollectReport> collect_comm(GroundTruth& truth, const CollectOptions& options);

/// Measures the exchanges of placements that are drawn from the pool of `tables` (PlacementDraw) as
/// measure_plan() measures those of plans: each device starts when its compute and its backward
/// exchange are done. Also writes the pool.
Result<CollectReport> collect_comm(GroundTruth& truth, const std::vector<Table>& tables,
                                   const CollectOptions& options);

}  // namespace neuroshard
