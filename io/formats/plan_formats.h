#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/core/row_blocks.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/core/trainer_rules.h"
#include "io/plans/export_options.h"
#include "io/plans/plan_document.h"
#include "io/traces/plan_trace.h"

// The list of formats that plans are written in. All that differs between them is in their entries:
// nobody else asks for a format by its name.

namespace neuroshard::io {

struct TrainerLint;

/// One format a plan can be written in.
struct PlanFormat {
  std::string_view name;     ///< "torchrec"
  std::string_view summary;  ///< one line
  /// The file of a plan that is valid and canonical, with complete options.
  Result<std::string> (*write)(const Workload&, const PlanDocument&, const PlanExportOptions&);
  /// The plan that the file holds, of a canonical one; null: every plan as it is.
  Plan (*as_written)(Plan) = nullptr;
  /// How the trainer deals rows out.
  RowDeal row_deal = RowDeal::kEven;
  /// Which rows of a plan the trainer lays out in another way, and what that means for costs, for
  /// people: "" none; null: never any.
  std::string (*rows_as_run)(const Workload&, const Plan&) = nullptr;
  /// How plans of any file are held against the trainer's rules; null: nothing has to run there.
  const TrainerLint* lint = nullptr;
  /// What a plan has to keep to: a search that does not is refused in the end, when its time is
  /// spent.
  TrainerRules rules{};
  /// Whether the file names the module of each table and the trainer's device for each shard; and
  /// the rules where those are CPUs.
  bool names_places = false;
  TrainerRules rules_on_cpu{};
  /// Makes of tables and a plan with hot rows those of the model that the trainer runs it by: one
  /// that was changed, and whose files are of cold rows alone. Null: there is no such model.
  void (*of_cold_rows)(Workload&, PlanDocument&, PlanExportOptions&) = nullptr;
  /// What of the file goes by how many devices a host has, for people; "": nothing.
  std::string_view by_hosts{};
  bool shows_costs = false;  ///< costs, the memory limit and the baselines beside the plan
};

/// One format that is a folder of files. All show costs.
struct FolderFormat {
  std::string_view name;     ///< "chakra"
  std::string_view summary;  ///< one line
  /// The files of a plan that is valid and canonical, with complete options.
  Status (*write)(const Workload&, const PlanDocument&, const PlanExportOptions&,
                  const FolderSink&);
  std::int32_t files_a_rank = 1;  ///< at most
  std::int32_t files_beside = 0;
  bool has_steps = false;      ///< that follow one another, with nodes for exchanges
  bool draws_lookups = false;  ///< from a seed
};

/// All of those; none has the name of a format that is one file.
std::span<const FolderFormat> folder_formats();

/// Null for an unknown one.
const FolderFormat* find_folder_format(std::string_view name);

/// All formats of one file, the native one first.
std::span<const PlanFormat> plan_formats();

/// Null for an unknown one.
const PlanFormat* find_plan_format(std::string_view name);

/// "json, torchrec, ..": their names, as messages say what was expected.
std::string plan_format_names();

/// Whether a trainer reads files of the format; false for an unknown one.
bool is_for_trainers(std::string_view format);

/// What the trainer of that format runs with these options; everything for an unknown one.
TrainerRules trainer_rules(std::string_view format, const PlanExportOptions& options);

/// The same for plans that the trainer runs, but that are not written in its format: hot rows, too,
/// where it has a model for them, which may gain by them for single lookups alone.
TrainerRules target_rules(std::string_view format, const PlanExportOptions& options);

/// How the trainer of that format deals rows out; evenly for an unknown one.
RowDeal row_deal(std::string_view format);

/// Why no plan in the format keeps tables in host memory, for people; "" where some may.
std::string host_memory_fault(std::string_view format, const PlanExportOptions& options);

}  // namespace neuroshard::io
