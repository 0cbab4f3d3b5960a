#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace neuroshard::io {

/// What another algorithm's plan costs, for comparison in a report.
struct BaselineCost {
  std::string name;
  bool feasible = false;
  double cost_ms = 0;          ///< only when feasible
  bool ended_by_time = false;  ///< before it had its own plan, or any
};

/// What a format needs beside the plan. Formats ignore what they have no place for.
struct PlanExportOptions {
  /// "torchrec": dotted name of the embedding module inside the model that is given to
  /// DistributedModelParallel; "" = that of each table in the document's places, else in
  /// `table_modules`, else the model itself.
  std::string module{};
  /// What the table file says, as in TableFile::modules.
  std::vector<std::string> table_modules{};
  /// "torchrec": where the trainer runs, "cuda" or "cpu"; part of every placement. "" = as in the
  /// document's places, else "cuda".
  std::string trainer_device{};
  /// "torchrec", "hugectr": devices of one host, in device order; 0 = as in the document's places,
  /// else of the usual ones (core host_devices()).
  std::int32_t devices_per_host = 0;
  /// "html": memory for tables on each device; 0 = not known.
  std::int64_t memory_limit = 0;
  /// "html": where the costs come from; "" = the name in the plan's provenance.
  std::string cost_origin{};
  /// "html": shown beside this plan.
  std::vector<BaselineCost> baselines{};
};

}  // namespace neuroshard::io
