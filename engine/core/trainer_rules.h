#pragma once

#include "engine/core/plan.h"
#include "engine/core/table.h"

namespace neuroshard {

/// What whoever runs a plan can run: searches make no other plans. A trainer's file format fills it
/// in, beside the rules that it reads and writes plans by (io/trainers/); the default, which is the
/// engine's own format, runs everything. That a plan keeps to these rules does not yet mean that
/// its file has a place for it: what hangs on single plans is told by whoever writes the file.
struct TrainerRules {
  /// The widest row shards. TorchRec finds a row by its number alone, so its blocks are even;
  /// HugeCTR deals rows out by key modulo, which gives blocks of as many rows, or one fewer.
  RowSplits row_splits = RowSplits::kAny;
  /// Whether column blocks of a table have to be of one width, each on a device of its own: HugeCTR
  /// is told their number only, and deals them out itself.
  bool equal_columns = false;
  /// Whether column blocks of a table on one device have to be of one width: TorchRec takes all of
  /// them for as wide as the first.
  bool one_width_a_device = false;
  /// Whether tables may be in host memory, as TorchRec's fused_uvm has them on GPUs.
  bool host_memory = true;
  /// Whether every device may hold the hottest rows of a table beside its shards.
  bool hot_rows = true;
  /// Whether hot rows save some of what is sent for bags that are added up. TorchRec sends the sum
  /// of every bag that may have more than one lookup, whatever rows are hot.
  bool hot_bags = true;
  /// Whether plans say which columns of a table are on which device. HugeCTR's do not, so nobody
  /// could move some of them.
  bool names_columns = true;
  /// Whether tables that are not pooled may be cut each in its own way. TorchRec wants those of a
  /// module alike.
  bool cuts_sequences_freely = true;

  friend bool operator==(const TrainerRules&, const TrainerRules&) = default;
};

/// Whether a plan of `workload` that runs may only have whole tables moved, and none cut anew.
bool only_whole_tables_move(const TrainerRules& rules, const Workload& workload);

}  // namespace neuroshard
