// Many plans run on one GPU, device by device: what `neuroshard measure --backend cuda` says of
// each, without a process a plan.
//
//   gpu_plans_bench --plans FILE [--cost-model NAME|FILE] [--runs N]
//
// A line of FILE is a file of tables and a plan of them, separated by a space. A line of the output
// is the plan, its measured and its predicted cost, and of each device measured and predicted
// compute, in ms: compute is measured, communication is the cost model's in both costs. Progress
// goes to stderr. Prints "skipped" and exits with 77 where there is no GPU.
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "bench/support/flags.h"
#include "cuda/device.h"
#include "engine/core/version.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/ground_truth/make_ground_truth.h"
#include "engine/ground_truth/measure.h"
#include "engine/planner/planner.h"
#include "io/plans/plan_import.h"
#include "io/plans/plan_input.h"
#include "io/tables/tables.h"

namespace neuroshard {
namespace {

struct Lines {
  std::string plans;
  std::string cost_model{kDefaultCostModel};
  GroundTruthOptions truth;
};

Status measure_line(const std::string& tables, const std::string& path, std::int32_t devices,
                    const CostModels& models, GroundTruth& truth) {
  NEUROSHARD_ASSIGN_OR_RETURN(const io::PlanInput input, io::read_plan_input(path));
  NEUROSHARD_ASSIGN_OR_RETURN(
      const io::TableFile file,
      io::read_tables(tables,
                      input.batch_size() > 0 ? std::optional(input.batch_size()) : std::nullopt));
  NEUROSHARD_ASSIGN_OR_RETURN(const Workload workload, io::make_workload(file, tables));
  NEUROSHARD_ASSIGN_OR_RETURN(const io::BoundPlan bound, io::bind_plan(input, workload, devices));
  const Plan& plan = bound.document.plan;
  NEUROSHARD_ASSIGN_OR_RETURN(const PlanCost predicted, simulate(workload, plan, models, {}));
  MeasureOptions options;
  options.models = &models;
  NEUROSHARD_ASSIGN_OR_RETURN(const PlanMeasurement measured,
                              measure_plan(truth, workload, plan, options));
  std::printf("%s %.6g %.6g", path.c_str(), measured.cost.cost_ms, predicted.cost_ms);
  for (std::size_t d = 0; d < predicted.per_device.size(); ++d) {
    std::printf(" %.6g:%.6g", measured.cost.per_device[d].compute_ms,
                predicted.per_device[d].compute_ms);
  }
  std::printf("\n");
  std::fflush(stdout);
  return {};
}

Status measure_all(const Lines& lines) {
  NEUROSHARD_ASSIGN_OR_RETURN(const NamedCostModels models, load_cost_models(lines.cost_model));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<GroundTruth> truth,
                              make_ground_truth(io::Backend::kCuda, lines.truth));
  std::ifstream file(lines.plans);
  if (!file) return invalid_input(lines.plans + ": cannot read");
  std::printf("# %s, neuroshard %s %s, %s, %d runs\n", truth->hardware().c_str(),
              std::string(version()).c_str(), std::string(commit()).c_str(), models.name.c_str(),
              lines.truth.timed_runs);
  std::string tables;
  std::string plan;
  std::int32_t devices = 0;
  while (file >> tables >> plan >> devices) {
    NEUROSHARD_RETURN_IF_ERROR(
        measure_line(tables, plan, devices, models.models, *truth).with_context(plan));
  }
  if (!file.eof()) return invalid_input(lines.plans + ": expected lines of TABLES PLAN DEVICES");
  std::printf("# at the end: %s\n", truth->conditions().c_str());
  return {};
}

}  // namespace
}  // namespace neuroshard

int main(int argc, char** argv) {
  neuroshard::Lines lines;
  lines.truth.max_memory_bytes = std::int64_t{48} << 30;
  neuroshard::apps::FlagSet flags;
  flags.text("plans", "FILE", "lines of a table file, a plan and its devices", &lines.plans)
      .required();
  flags.text("cost-model", "NAME|FILE", "what predicts", &lines.cost_model);
  flags.integer("runs", "timed runs of a device; the median counts", &lines.truth.timed_runs, 1,
                neuroshard::bench::kMaxRounds);
  const auto code =
      neuroshard::bench::read_flags(flags, "Many plans, measured on one GPU.", {argv, argv + argc});
  if (code) return *code;
  lines.truth.warmup_runs = neuroshard::untimed_runs(lines.truth.timed_runs);
  if (const neuroshard::Status available = neuroshard::cuda::device_available(); !available.ok()) {
    std::printf("skipped: %s\n", available.message().c_str());
    return 77;
  }
  const neuroshard::Status status = neuroshard::measure_all(lines);
  if (status.ok()) return 0;
  std::fprintf(stderr, "gpu_plans_bench: %s\n", status.message().c_str());
  return 1;
}
