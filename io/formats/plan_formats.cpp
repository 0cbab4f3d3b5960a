#include "io/formats/plan_formats.h"

#include <algorithm>
#include <array>

#include "io/benchmark/benchmark_folder.h"
#include "io/formats/trainer_lint.h"
#include "io/plans/plan_csv.h"
#include "io/plans/plan_file.h"
#include "io/plans/plan_tables.h"
#include "io/reports/html_report.h"
#include "io/trainers/hugectr_plan.h"
#include "io/trainers/torchrec_columns.h"
#include "io/trainers/torchrec_plan.h"

namespace neuroshard::io {
namespace {

/// With all that the options say, so that nobody who reads the plan has to be told again.
Result<std::string> write_native(const Workload& workload, const PlanDocument& document,
                                 const PlanExportOptions& options) {
  PlanDocument complete = document;
  complete.setting.table_names = names_for_plan(workload);
  if (options.memory_limit > 0) complete.setting.memory_bytes = options.memory_limit;
  complete.places.devices_per_host = options.devices_per_host;
  return format_plan(complete);
}

constexpr std::array kFormats{
    PlanFormat{.name = kNativeFormat,
               .summary = "the engine's own plan file, neuroshard-plan",
               .write = write_native},
    PlanFormat{.name = kTorchRecFormat,
               .summary = "JSON in the shape of TorchRec's ShardingPlan",
               .write = format_torchrec_plan,
               .as_written = torchrec_plan,
               .lint = &kTorchRecLint,
               .rules = kTorchRecRules,
               .names_places = true,
               .rules_on_cpu = kTorchRecRulesOnCpu,
               .of_cold_rows = keep_cold_rows,
               .by_hosts = "placements"},
    PlanFormat{.name = kHugeCtrFormat,
               .summary = "HugeCTR's shard_matrix and shard_strategy as JSON",
               .write = format_hugectr_plan,
               .as_written = hugectr_plan,
               .row_deal = RowDeal::kModulo,
               .rows_as_run = hugectr_rows,
               .lint = &kHugeCtrLint,
               .rules = kHugeCtrRules,
               .by_hosts = "comm_strategy"},
    PlanFormat{.name = "hugectr-python",
               .summary = "the same lists as Python",
               .write = format_hugectr_python,
               .as_written = hugectr_plan,
               .row_deal = RowDeal::kModulo,
               .rows_as_run = hugectr_rows,
               .rules = kHugeCtrRules,
               .by_hosts = "comm_strategy"},
    PlanFormat{.name = "csv",
               .summary = "one line a shard",
               .write = format_plan_csv,
               .rules = {.hot_rows = false}},
    PlanFormat{.name = "html",
               .summary = "a report with charts, one file, for a browser",
               .write = format_html_report,
               .rules = {.hot_rows = false},
               .shows_costs = true},
};

constexpr std::array kFolderFormats{
    FolderFormat{.name = "chakra",
                 .summary = "a folder of Chakra execution traces, one a rank, for ASTRA-sim",
                 .write = write_plan_trace,
                 .has_steps = true},
    FolderFormat{
        .name = "benchmark",
        .summary = "a folder with a script that runs and times the plan without the engine",
        .write = write_benchmark,
        .files_a_rank = 2,
        .files_beside = 7,
        .draws_lookups = true},
};

}  // namespace

std::span<const FolderFormat> folder_formats() { return kFolderFormats; }

const FolderFormat* find_folder_format(std::string_view name) {
  const auto* const found =
      std::find_if(kFolderFormats.begin(), kFolderFormats.end(),
                   [&](const FolderFormat& format) { return format.name == name; });
  return found == kFolderFormats.end() ? nullptr : found;
}

std::span<const PlanFormat> plan_formats() { return kFormats; }

const PlanFormat* find_plan_format(std::string_view name) {
  const auto* const found =
      std::find_if(kFormats.begin(), kFormats.end(),
                   [&](const PlanFormat& format) { return format.name == name; });
  return found == kFormats.end() ? nullptr : found;
}

std::string plan_format_names() {
  std::string names;
  for (const PlanFormat& format : kFormats) {
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  }
  return names;
}

bool is_for_trainers(std::string_view format) {
  const PlanFormat* found = find_plan_format(format);
  return found != nullptr && found->as_written != nullptr;
}

TrainerRules trainer_rules(std::string_view format, const PlanExportOptions& options) {
  const PlanFormat* found = find_plan_format(format);
  if (found == nullptr) return {};
  const bool on_cpu = found->names_places && options.trainer_device == "cpu";
  return on_cpu ? found->rules_on_cpu : found->rules;
}

TrainerRules target_rules(std::string_view format, const PlanExportOptions& options) {
  TrainerRules rules = trainer_rules(format, options);
  const PlanFormat* found = find_plan_format(format);
  if (found == nullptr || found->of_cold_rows == nullptr) return rules;
  rules.hot_rows = true;
  rules.hot_bags = false;
  return rules;
}

RowDeal row_deal(std::string_view format) {
  const PlanFormat* found = find_plan_format(format);
  return found == nullptr ? RowDeal::kEven : found->row_deal;
}

std::string host_memory_fault(std::string_view format, const PlanExportOptions& options) {
  if (trainer_rules(format, options).host_memory) return {};
  if (trainer_rules(format, {}).host_memory) return "TorchRec has no such kernels on CPU";
  return std::string(format) + " has no place for tables there";
}

}  // namespace neuroshard::io
