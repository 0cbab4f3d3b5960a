#include "io/formats/plan_export.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/core/hot_rows.h"
#include "engine/core/plan.h"
#include "engine/core/plan_check.h"
#include "io/plans/plan_file.h"
#include "io/plans/plan_tables.h"
#include "io/text.h"
#include "io/trainers/torchrec_plan.h"

namespace neuroshard::io {
namespace {

/// The options, with the document's places where they say nothing.
PlanExportOptions completed(const PlanDocument& document, PlanExportOptions options) {
  if (options.trainer_device.empty()) options.trainer_device = document.places.device;
  if (options.trainer_device.empty()) options.trainer_device = "cuda";
  if (options.devices_per_host == 0) options.devices_per_host = document.places.devices_per_host;
  return options;
}

/// Placements that neither the plan's own file nor the options say in words.
Status check_places(const TrainerPlaces& places, const PlanExportOptions& given) {
  if (given.trainer_device.empty() && !places.device_fault.empty()) {
    return invalid_input(places.device_fault + " (or --trainer-device)");
  }
  const bool cuda = given.trainer_device != "cpu";
  if (cuda && given.devices_per_host == 0 && !places.host_fault.empty()) {
    return invalid_input(places.host_fault + " (or --devices-per-host)");
  }
  return {};
}

Status check_options(const Plan& plan, const PlanExportOptions& options) {
  if (!options.module.empty() && !is_module_name(options.module)) {
    return invalid_input("module: found " + excerpt(options.module) +
                         ", expected a dotted name such as 'sparse.ebc'");
  }
  if (options.trainer_device != "cuda" && options.trainer_device != "cpu") {
    return invalid_input("trainer device: found " + excerpt(options.trainer_device) +
                         ", expected cuda or cpu");
  }
  const std::int32_t per_host = options.devices_per_host;
  if (per_host < 0 || (per_host > 0 && plan.devices % per_host != 0)) {
    return invalid_input("devices per host: found " + std::to_string(per_host) +
                         ", expected a divisor of the plan's " + std::to_string(plan.devices) +
                         " devices, or 0 for the usual");
  }
  if (options.memory_limit < 0) {
    return invalid_input("memory limit: found " + std::to_string(options.memory_limit) +
                         ", expected bytes, or 0 when not known");
  }
  return {};
}

std::vector<HotLookups> hot_lookups(const Workload& workload, const Plan& plan) {
  std::vector<HotLookups> all;
  for (const HotRows& hot : hot_rows(plan)) {
    const Table& table = workload.tables[static_cast<std::size_t>(hot.table)];
    const LookupParts parts = lookup_parts(table, hot.rows, workload.batch_size);
    all.push_back({least_count(table, hot.rows, workload.batch_size), parts.hot_share,
                   table.pooled ? parts.cold_bags : 1 - parts.hot_share});
  }
  return all;
}

/// What formats write: a canonical plan, and options without gaps.
struct Complete {
  PlanDocument document;
  PlanExportOptions options;
};

Result<Complete> complete_of(const Workload& workload, const PlanDocument& document,
                             const PlanExportOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  NEUROSHARD_RETURN_IF_ERROR(validate(workload, document.plan));
  Complete complete{document, completed(document, options)};
  NEUROSHARD_RETURN_IF_ERROR(check_options(document.plan, complete.options));
  canonicalize(complete.document.plan);
  complete.document.hot_lookups = hot_lookups(workload, document.plan);
  return complete;
}

std::string no_place_for_hot_rows(std::string_view format) {
  return std::string(format) + " has no place for them";
}

}  // namespace

Result<std::string> export_plan(std::string_view format, const Workload& workload,
                                const PlanDocument& document, const PlanExportOptions& options) {
  const PlanFormat* found = find_plan_format(format);
  if (found == nullptr) {
    return invalid_input("plan format: found " + excerpt(format) + ", expected one of " +
                         plan_format_names());
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const Complete complete, complete_of(workload, document, options));
  if (found->names_places) NEUROSHARD_RETURN_IF_ERROR(check_places(document.places, options));
  if (!found->rules.hot_rows) {
    NEUROSHARD_RETURN_IF_ERROR(check_no_hot_rows(document.plan, no_place_for_hot_rows(format)));
  }
  return found->write(workload, complete.document, complete.options);
}

Status check_runs(std::string_view format, const Workload& workload, const PlanDocument& document,
                  const PlanExportOptions& options) {
  const PlanFormat* found = find_plan_format(format);
  if (found == nullptr || found->of_cold_rows == nullptr || hot_rows(document.plan).empty()) {
    return export_plan(format, workload, document, options).status();
  }
  Workload tables = workload;
  PlanDocument cold = document;
  PlanExportOptions own = options;
  found->of_cold_rows(tables, cold, own);
  return export_plan(format, tables, cold, own).status();
}

Status export_folder(std::string_view format, const Workload& workload,
                     const PlanDocument& document, const PlanExportOptions& options,
                     const FolderSink& sink) {
  const FolderFormat* found = find_folder_format(format);
  if (found == nullptr) {
    return invalid_input("plan format: found " + excerpt(format) +
                         ", expected one that is a folder of files");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const Complete complete, complete_of(workload, document, options));
  if (std::ssize(document.cost.per_device) != document.plan.devices) {
    return invalid_input("plan: found no costs of its devices, expected those of a cost model");
  }
  NEUROSHARD_RETURN_IF_ERROR(check_no_hot_rows(document.plan, no_place_for_hot_rows(format)));
  return found->write(workload, complete.document, complete.options, sink);
}

Plan plan_as_written(std::string_view format, Plan plan) {
  canonicalize(plan);
  const PlanFormat* found = find_plan_format(format);
  if (found == nullptr || found->as_written == nullptr) return plan;
  return found->as_written(std::move(plan));
}

Status check_as_written(std::string_view format, const Workload& workload, const Plan& plan) {
  return check_plan_sharding(workload, plan)
      .with_context("columns on a device joined as " + std::string(format) + " has them");
}

std::string lost_places(std::string_view format, const PlanDocument& document) {
  const PlanFormat* found = find_plan_format(format);
  if (found != nullptr && found->names_places) return {};
  const TrainerPlaces& places = document.places;
  std::vector<std::string> lost;
  if (std::any_of(places.modules.begin(), places.modules.end(),
                  [](const auto& module) { return module && !module->empty(); })) {
    lost.emplace_back("modules");
  }
  if (places.device == "cpu") lost.emplace_back("CPU placements");
  if (!places.device_fault.empty()) lost.emplace_back("devices of the trainer");
  const bool keeps_hosts =
      format == kNativeFormat || (found != nullptr && found->shows_costs);  // or goes by them
  const bool hosts = places.devices_per_host != 0 && !keeps_hosts &&
                     places.devices_per_host != host_size(document.plan.devices, 0) &&
                     (found == nullptr || found->by_hosts.empty());
  if (hosts || !places.host_fault.empty()) lost.emplace_back("hosts");
  std::string text;
  for (const std::string& word : lost) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string rows_as_run(std::string_view format, const Workload& workload, const Plan& plan) {
  const PlanFormat* found = find_plan_format(format);
  if (found == nullptr || found->rows_as_run == nullptr) return {};
  return found->rows_as_run(workload, plan);
}

Status check_exportable(std::string_view format, const Workload& workload, std::int32_t devices,
                        const PlanExportOptions& options, const ExchangeFormat& exchange) {
  PlanDocument document;
  document.plan.devices = devices;
  const bool has_place_for_all = find_plan_format(format) != nullptr && !is_for_trainers(format);
  if (has_place_for_all) return check_options(document.plan, completed(document, options));
  // Splitting a table only adds to what formats refuse, so whole tables are the plan to try.
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    document.plan.shards.push_back(whole_table(workload, static_cast<std::int32_t>(index), 0));
  }
  document.batch_size = workload.batch_size;
  document.exchange = exchange;
  document.cost = {1,
                   std::vector<DeviceCost>(static_cast<std::size_t>(devices), {.compute_ms = 1})};
  return export_plan(format, workload, document, options).status();
}

}  // namespace neuroshard::io
