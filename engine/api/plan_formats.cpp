// Plans in other formats, out and in.
#include <memory>
#include <string>
#include <utility>

#include "engine/api/boundary.h"
#include "engine/api/handles.h"
#include "engine/api/inputs.h"
#include "engine/api/numbered_plan.h"
#include "engine/core/plan_check.h"
#include "engine/planner/explain/report_facts.h"
#include "io/formats/plan_export.h"
#include "io/plans/plan_import.h"
#include "io/sha256.h"
#include "io/tables/tables.h"
#include "io/text.h"

namespace neuroshard::api {
namespace {

std::string input_sha256(const neuroshard_workload& workload) {
  if (!workload.sha256.empty()) return workload.sha256;
  return io::sha256_hex(io::format_tables(workload.workload));
}

Result<io::PlanExportOptions> read_options(const neuroshard_export_options& given,
                                           const neuroshard_plan& plan) {
  io::PlanExportOptions options;
  NEUROSHARD_RETURN_IF_ERROR(require_zero(given.reserved, "options.reserved"));
  NEUROSHARD_ASSIGN_OR_RETURN(options.module, view_of(given.module, "options.module"));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view device,
                              view_of(given.trainer_device, "options.trainer_device"));
  options.trainer_device = device;
  options.memory_limit =
      given.memory_bytes != 0 ? given.memory_bytes : plan.document.setting.memory_bytes;
  options.devices_per_host = given.devices_per_host;
  options.cost_origin = plan.cost_origin;
  return options;
}

Result<std::string> export_text(const neuroshard_plan& plan, const neuroshard_workload& workload,
                                std::string_view format, const neuroshard_export_options& given) {
  NEUROSHARD_RETURN_IF_ERROR(check_same_batch(workload, plan));
  NEUROSHARD_ASSIGN_OR_RETURN(io::PlanExportOptions options, read_options(given, plan));
  options.table_modules = workload.modules;
  NEUROSHARD_ASSIGN_OR_RETURN(io::PlanDocument document, numbered_for(workload, plan, "plan"));
  io::PlanProvenance& provenance = document.provenance;
  if (provenance != io::PlanProvenance{} && provenance.input_sha256.empty()) {
    provenance.input_sha256 = input_sha256(workload);
  }
  const std::string_view name = format.empty() ? io::plan_formats().front().name : format;
  const io::PlanFormat* known = io::find_plan_format(name);
  if (known != nullptr && known->shows_costs && plan.models != nullptr) {
    NEUROSHARD_RETURN_IF_ERROR(validate(workload.workload, document.plan));
    NEUROSHARD_RETURN_IF_ERROR(add_report_facts(workload.workload, document,
                                                document.places.devices_per_host, *plan.models,
                                                nullptr, nullptr, options));
  }
  return io::export_plan(name, workload.workload, document, options);
}

Result<std::unique_ptr<neuroshard_plan>> import_plan(std::string_view bytes,
                                                     const std::string& source,
                                                     const Workload& workload,
                                                     std::int32_t devices) {
  if (devices < 0 || devices > kMaxDevices) {
    return invalid_input("devices: found " + std::to_string(devices) + ", expected 0 to " +
                         std::to_string(kMaxDevices));
  }
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  NEUROSHARD_ASSIGN_OR_RETURN(const io::PlanInput input, io::parse_plan_input(bytes, source));
  NEUROSHARD_ASSIGN_OR_RETURN(io::BoundPlan bound, io::bind_plan(input, workload, devices));
  auto handle = std::make_unique<neuroshard_plan>();
  handle->document = std::move(bound.document);
  for (const std::string& note : bound.notes) handle->notes += io::printable(note) + "\n";
  canonicalize(handle->document.plan);
  return handle;
}

}  // namespace
}  // namespace neuroshard::api

using namespace neuroshard;
using namespace neuroshard::api;

size_t neuroshard_export_format_count(void) { return io::plan_formats().size(); }

neuroshard_text neuroshard_export_format_name(size_t index) {
  const auto formats = io::plan_formats();
  return text_of(index < formats.size() ? formats[index].name : std::string_view(""));
}

neuroshard_text neuroshard_export_format_summary(size_t index) {
  const auto formats = io::plan_formats();
  return text_of(index < formats.size() ? formats[index].summary : std::string_view(""));
}

neuroshard_status neuroshard_plan_export(const neuroshard_plan* plan,
                                         const neuroshard_workload* workload,
                                         neuroshard_text format,
                                         const neuroshard_export_options* options,
                                         neuroshard_bytes** bytes, neuroshard_error* error) {
  return make_handle(bytes, error, [&]() -> Result<std::unique_ptr<neuroshard_bytes>> {
    NEUROSHARD_REQUIRE(plan);
    NEUROSHARD_REQUIRE(workload);
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view name, view_of(format, "format"));
    NEUROSHARD_ASSIGN_OR_RETURN(const neuroshard_export_options given,
                                read_optional_struct(options, "options"));
    auto made = std::make_unique<neuroshard_bytes>();
    NEUROSHARD_ASSIGN_OR_RETURN(made->content, export_text(*plan, *workload, name, given));
    return made;
  });
}

neuroshard_status neuroshard_plan_import(neuroshard_text bytes, neuroshard_text source,
                                         const neuroshard_workload* workload, int32_t devices,
                                         neuroshard_plan** plan, neuroshard_error* error) {
  return make_handle(plan, error, [&]() -> Result<std::unique_ptr<neuroshard_plan>> {
    NEUROSHARD_REQUIRE(workload);
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view view, view_of(bytes, "bytes"));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view name, view_of(source, "source"));
    return import_plan(view, std::string(name), workload->workload, devices);
  });
}

neuroshard_text neuroshard_plan_notes(const neuroshard_plan* plan) {
  return text_of(plan == nullptr ? std::string_view("") : plan->notes);
}
