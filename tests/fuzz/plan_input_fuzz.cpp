#include <algorithm>

#include "engine/core/plan_bytes.h"
#include "io/formats/plan_export.h"
#include "io/formats/plan_lint.h"
#include "io/plans/plan_import.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

namespace {

/// The tables of the seeds; plans of other tables end as faults.
Workload tables() {
  Workload workload;
  const struct {
    const char* name;
    std::int64_t rows;
    std::int32_t dim;
  } all[] = {{"user", 10, 8}, {"ad", 6, 4}, {"item", 12, 16}};
  for (const auto& one : all) {
    Table table;
    table.name = one.name;
    table.rows = one.rows;
    table.dim = one.dim;
    workload.tables.push_back(table);
  }
  workload.batch_size = 1024;
  return workload;
}

}  // namespace

// TorchRec's and HugeCTR's plans: a plan that binds has no coverage fault, one that does not has a
// fault, and what another format can express survives being written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static const Workload workload = tables();
  const auto any = io::parse_plan_input(bytes, "input", io::PlanUse::kCheck);
  if (any.ok()) {
    const std::int32_t unsaid = any->devices() == 0 ? 4 : 0;
    fuzz::require(io::lint_plan(*any, workload, {.devices = unsaid}).ok(), "any plan is checked",
                  "");
  }
  const auto parsed = io::parse_plan_input(bytes, "input");
  const io::PlanInput* input = fuzz::accepted(parsed);
  if (input == nullptr) return 0;
  const std::int32_t devices = input->devices() == 0 ? 4 : 0;
  const auto bound = io::bind_plan(*input, workload, devices);
  const auto fitted = io::bind_plan(*input, workload, devices, io::PlanAge::kOlder);
  // Of renamed tables, of which alone one of ours has a note, an older plan knows nothing.
  const bool renamed = input->format() == "json" && bound.ok() && !bound->notes.empty();
  fuzz::require(
      !bound.ok() || renamed || (fitted.ok() && fitted->document.plan == bound->document.plan),
      "a plan of these tables is older, too", "");
  if (!fitted.ok()) fuzz::require_clear(fitted.status());
  const auto faults = io::lint_plan(*input, workload, {.devices = devices, .memory_limit = 1});
  fuzz::require(faults.ok(), "the rules make sense", faults.status().message());
  for (const io::PlanFault& fault : *faults) {
    fuzz::require(fuzz::prints_as_one_line(fault.text), "one printable line", fault.text);
  }
  if (!bound.ok()) {
    fuzz::require_clear(bound.status());
    fuzz::require(!faults->empty(), "what does not bind has a fault", bound.status().message());
    return 0;
  }
  Plan plan = bound->document.plan;
  canonicalize(plan);
  for (const char* format : {"torchrec", "hugectr", "json"}) {
    const auto text = io::export_plan(format, workload, bound->document, {});
    if (!text.ok()) continue;
    const io::PlanInput again = fuzz::reread(io::parse_plan_input(*text, "input"));
    io::BoundPlan read = fuzz::reread(io::bind_plan(again, workload, 0));
    canonicalize(read.document.plan);
    const bool same = format[0] == 'h' ? device_bytes(workload, read.document.plan) ==
                                             device_bytes(workload, plan)
                                       : read.document.plan == plan;
    fuzz::require(same, "the plan survives", *text);
  }
  return 0;
}
