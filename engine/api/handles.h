#pragma once

#include <neuroshard/engine.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/core/progress.h"
#include "engine/core/table.h"
#include "engine/cost_model/shipped_models.h"
#include "io/plans/plan_file.h"

// What the opaque handles of the C interface hold. Handles that several threads may share are
// const after they are made; see neuroshard/engine.h for who owns what.

struct neuroshard_error {
  neuroshard_status status = NEUROSHARD_OK;
  std::string message;
  const char* fixed = nullptr;  ///< instead of `message` when there was no memory for one
};

struct neuroshard_bytes {
  std::string content;
};

struct neuroshard_cancellation {
  neuroshard::CancelToken token;
};

struct neuroshard_workload {
  neuroshard::Workload workload;
  std::set<std::string> names;         ///< of the tables
  std::vector<std::string> modules{};  ///< as in io::TableFile; tables added later have none
  std::string sha256;  ///< of the table file it was read from; empty when made or changed by hand
};

/// One table of an explanation. Its pointers are set when it is handed out.
struct neuroshard_explained_table {
  neuroshard_table_explanation c{};
  std::vector<neuroshard_shard> shards;
  std::vector<neuroshard_shard> next_best{};
};

struct neuroshard_explanation {
  std::vector<neuroshard_explained_table> tables;
};

struct neuroshard_cost_models {
  std::shared_ptr<const neuroshard::NamedCostModels> models;
};

struct neuroshard_planner {
  std::shared_ptr<const neuroshard::NamedCostModels> models;
  neuroshard_log_fn log = nullptr;
  void* log_user_data = nullptr;
};

struct neuroshard_plan {
  neuroshard::io::PlanDocument document;  ///< its provenance has no input_sha256 until an export
  std::string cost_origin;  ///< where its costs come from, for people; empty without costs
  /// Those that its costs are of, for reports; null without costs of this library's.
  std::shared_ptr<const neuroshard::NamedCostModels> models;
  std::string notes;  ///< what an import had to put differently, a line each
  std::int64_t evaluations = 0;
  double search_s = 0;
  bool stopped_early = false;
  std::string skipped;  ///< what the search had no time for; empty: nothing
};
