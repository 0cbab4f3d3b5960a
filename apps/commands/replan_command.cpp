#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "apps/commands/moved_shards.h"
#include "apps/commands/plan_input.h"
#include "apps/commands/plan_report.h"
#include "apps/commands/written_plan.h"
#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/progress_bar.h"
#include "apps/flags/common_flags.h"
#include "apps/flags/export_flags.h"
#include "apps/flags/host_flags.h"
#include "apps/flags/search_flags.h"
#include "apps/interrupt.h"
#include "apps/make_commands.h"
#include "engine/planner.h"

namespace neuroshard::apps {
namespace {

class ReplanCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    declare_plan_input(flags, &input_);
    declare_device_memory(flags, &cluster_.memory_bytes);
    flags
        .bytes("move-limit",
               "the most bytes that may come to devices that do not hold them: weights and "
               "optimizer states",
               &move_limit_)
        .required();
    declare_cost_model(flags, &cost_model_);
    declare_replanning(flags, &options_);
    flags
        .text("output", "FILE", "write the plan to a file; - = to stdout, and nothing else there",
              &output_)
        .writes("plan");
    declare_export_flags(flags, &export_, "the plan's, or ");
    declare_bandwidths(flags, &bandwidths_);
  }

  Status run(const FlagSet& flags) override {
    if (export_.format != "json" && !output_) {
      return invalid_input("--format: found '" + export_.format +
                           "' without --output, expected a file for the plan");
    }
    NEUROSHARD_ASSIGN_OR_RETURN(const PlanAndTables input, load_plan_and_tables(input_));
    note_if_any(input.loaded.batch_note);
    NEUROSHARD_ASSIGN_OR_RETURN(io::PlanDocument document, bind(input, input_.devices));
    const Workload& workload = input.loaded.workload;
    cluster_.devices = document.plan.devices;
    export_.options.table_modules = input.loaded.modules;
    if (output_) {
      NEUROSHARD_RETURN_IF_ERROR(
          io::check_exportable(export_.format, workload, cluster_.devices, export_.options));
    }
    std::int32_t hosts = export_.options.devices_per_host;
    if (hosts == 0) hosts = document.places.devices_per_host;
    NEUROSHARD_ASSIGN_OR_RETURN(
        const NamedCostModels models,
        load_models_for_hosts(cost_model_, hosts, cluster_.devices, bandwidths_));
    note_unused_flags(flags, export_.format);
    note_unknown_hosts(flags, models, changed_by_hosts(export_.format));
    if (hosts == 0) note_usual_hosts(export_.format, cluster_.devices);
    note_unknown_bandwidths(flags, models);
    NEUROSHARD_ASSIGN_OR_RETURN(document.cost, costs_of(input, document.plan, models));
    NEUROSHARD_ASSIGN_OR_RETURN(const PlanResult best, search(input, document.plan, models.models));
    if (cancel_token().cancelled()) print_note("interrupted: this is the best plan so far");
    return hand_over(input, document, models, best);
  }

 private:
  Result<PlanResult> search(const PlanAndTables& input, const Plan& now, const CostModels& models) {
    ProgressBar progress;
    PlanOptions options = options_;
    options.progress = &progress;
    options.cancel = &cancel_token();
    const Workload& workload = input.loaded.workload;
    Result<PlanResult> best = replan(workload, cluster_, models, now, move_limit_, options);
    if (!best.ok()) return best.status().with_context(input.plan.source);
    if (output_) {
      NEUROSHARD_RETURN_IF_ERROR(put_as_written(export_.format, workload, models, *best));
    }
    return best;
  }

  Status hand_over(const PlanAndTables& input, const io::PlanDocument& now,
                   const NamedCostModels& models, const PlanResult& best) {
    if (output_) {
      io::PlanDocument document = now;
      document.plan = best.plan;
      document.batch_size = input.loaded.workload.batch_size;
      document.cost = best.cost;
      document.provenance =
          provenance_of(models, input.loaded.sha256, best.algorithm, options_.seed);
      export_.options.memory_limit = cluster_.memory_bytes;
      export_.options.cost_origin = describe_costs(models, cluster_.devices);
      NEUROSHARD_ASSIGN_OR_RETURN(
          const std::string text,
          io::export_plan(export_.format, input.loaded.workload, document, export_.options));
      note_lost_places(input, document, export_.format);
      NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, text));
      if (*output_ == "-") {
        if (best.stopped_early && !cancel_token().cancelled()) {
          print_note(ended_by_time("the search", "another plan"));
        }
        return {};
      }
    }
    return report(input, now, models, best);
  }

  [[nodiscard]] Status report(const PlanAndTables& input, const io::PlanDocument& now,
                              const NamedCostModels& models, const PlanResult& best) const {
    const Workload& workload = input.loaded.workload;
    const Console console = Console::of(STDOUT_FILENO);
    std::string text = result_text(console, workload, cluster_, models, best);
    if (best.stopped_early && !cancel_token().cancelled())
      text += ended_by_time("the search", "another plan") + "\n";
    text += "\n" + gain_text(input.plan.source, now.cost.cost_ms, best.cost.cost_ms) +
            moves_text(console, workload, now.plan, best.plan, move_limit_);
    if (output_) text += "plan written to " + *output_ + "\n";
    return print(text);
  }

  PlanInputFlags input_;
  Cluster cluster_;
  std::int64_t move_limit_ = 0;
  std::string cost_model_ = kDefaultCostModel;
  TorchRecBandwidths bandwidths_;
  std::optional<std::string> output_;
  ExportFlags export_;
  PlanOptions options_{.threads = 0};
};

}  // namespace

std::unique_ptr<Command> make_replan_command() { return std::make_unique<ReplanCommand>(); }

}  // namespace neuroshard::apps
