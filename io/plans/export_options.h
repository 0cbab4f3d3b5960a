#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/hardware_profile.h"
#include "engine/core/progress.h"
#include "engine/core/table.h"

namespace neuroshard::io {

/// What another algorithm's plan costs, for comparison in a report.
struct BaselineCost {
  std::string name;
  bool feasible = false;
  double cost_ms = 0;          ///< only when feasible
  bool ended_by_time = false;  ///< before it had its own plan, or any
};

/// What is known of a table of a plan, for a report: where its time goes, and what else could be
/// done with it.
struct TableFacts {
  std::int32_t table = 0;
  double alone_ms = 0;      ///< of its dearest shard, on a device that holds nothing else
  double adds_ms = 0;       ///< by how much a device takes less without it, the most of all
  std::string next_best{};  ///< the next best place, for people; "" = none fits
  double next_cost_ms = 0;  ///< of the plan then
};

/// The lookups of a batch into one table: bag b reads rows indices[offsets[b]..offsets[b + 1]).
struct DrawnLookups {
  std::vector<std::int64_t> offsets;  ///< batch size + 1, from 0 to indices.size()
  std::vector<std::int64_t> indices;  ///< in [0, rows)
};

/// What a format needs beside the plan. Formats ignore what they have no place for.
struct PlanExportOptions {
  /// "torchrec": dotted name of the embedding module inside the model that is given to
  /// DistributedModelParallel; "" = that of each table in the document's places, else, as of tables
  /// that a trainer's plan lacked, in `table_modules`, else the model itself.
  std::string module{};
  /// What the table file says, as in TableFile::modules.
  std::vector<std::string> table_modules{};
  /// "torchrec": where the trainer runs, "cuda" or "cpu"; part of every placement. "" = as in the
  /// document's places, else "cuda".
  std::string trainer_device{};
  /// "json", "torchrec", "hugectr": devices of one host, in device order; 0 = as in the document's
  /// places, else of the usual ones (core host_devices()).
  std::int32_t devices_per_host = 0;
  /// "json", "html": memory for tables on each device; 0 = as in the document, or not known.
  std::int64_t memory_limit = 0;
  /// "html": where the costs come from; "" = the name in the plan's provenance.
  std::string cost_origin{};
  /// "html": "measured", "simulated", "formula" or another word that costs have; "" = that of the
  /// document's provenance.
  std::string cost_word{};
  /// "html": what no plan of columns, even row blocks and tables on every device costs less than.
  std::optional<double> lower_bound_ms{};
  /// "html": of some tables, the dearest first.
  std::vector<TableFacts> facts{};
  /// "html": what each shard, in canonical order, takes alone; empty = not known.
  std::vector<double> shard_ms{};
  /// "html": when and by which command it was made, as it is to be shown; "" = not said. Nothing is
  /// taken from a clock, so that the same plan gives the same bytes.
  std::string date{};
  std::string command{};
  /// "chakra": "collective" or "pairs", what an exchange is; "" = the one that says what is sent.
  std::string exchange_nodes{};
  /// "chakra": the links that files of ASTRA-sim's are of; nothing: there are no such files.
  std::optional<InterconnectProfile> links{};
  /// "benchmark": where lookups come from, round(batch size * pooling factor) of a table, and the
  /// seed that they were drawn with.
  std::function<DrawnLookups(const Table& table, std::int64_t batch_size)> draw_lookups{};
  std::uint64_t lookup_seed = 0;
  /// "benchmark": ends the fit of lookups' laws, which may take a minute; null: nothing does.
  const CancelToken* cancel = nullptr;
  /// "chakra", "benchmark": what the dense layers take between the exchanges of a step.
  double dense_ms = 0;
  /// "chakra": steps, one after the other, 1 at least.
  std::int64_t trace_steps = 1;
  /// "html": shown beside this plan.
  std::vector<BaselineCost> baselines{};
};

}  // namespace neuroshard::io
