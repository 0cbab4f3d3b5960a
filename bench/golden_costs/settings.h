#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard::bench {

/// Where the tables of a setting are from.
enum class TableSource {
  kGenerated,  ///< generate_tables(), others for each task
  kPublic,     ///< examples/dlrm_dcnv2.json; tasks differ in the seed of the search
  kReference,  ///< tasks of the data folder, from its 856 DLRM tables
};

/// Tasks that are searched alike. Sizes are shares of what all tables of a task take.
struct GoldenSetting {
  std::string_view name;                     ///< in the golden table
  std::string_view cost_model = "h200_sim";  ///< none: the reference's, for so many devices
  TableSource source = TableSource::kGenerated;
  std::int32_t devices = 0;
  std::int32_t tasks = 0;
  std::int64_t evaluations = 0;
  std::int32_t tables = 100;  ///< of a generated task
  double memory = 1.3;        ///< of all devices together; others have 80 GB each, or 4 GiB
  RowSplits row_splits = RowSplits::kEven;  ///< replan moves no rows, and begins without
  bool data_parallel = false;
  bool equal_columns = false;
  bool sequences = false;  ///< every fifth generated table is not pooled
  double host_memory = 0;  ///< of all hosts together
  double moved = 0;        ///< of replan's limit; 0: make_plan()
};

/// Every search under every kind of cost that it knows, where users have it.
std::span<const GoldenSetting> golden_settings();

/// Folders that tables and models are read from.
struct GoldenFolders {
  std::string root;  ///< of the repository
  std::string data;  ///< NEUROSHARD_TEST_DATA; "": none
};

/// The models and tables of the setting's first tasks, so many. Errors: files that cannot be read.
struct GoldenInputs {
  CostModels models;
  std::vector<Workload> workloads;
};
Result<GoldenInputs> load_inputs(const GoldenSetting& setting, std::int32_t tasks,
                                 const GoldenFolders& folders);

}  // namespace neuroshard::bench
