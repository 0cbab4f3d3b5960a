#include <unistd.h>

#include <optional>
#include <string>

#include "apps/commands/plan_input.h"
#include "apps/commands/plan_report.h"
#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/flags/common_flags.h"
#include "apps/flags/host_flags.h"
#include "apps/make_commands.h"
#include "engine/memory_limits.h"
#include "engine/planner.h"
#include "io/plans/plan_file.h"

namespace neuroshard::apps {
namespace {

class SimulateCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    declare_plan_input(flags, &input_);
    declare_device_memory(flags, &memory_);
    declare_buffers(flags, &buffers_).default_text("the plan's, or off");
    declare_cost_model(flags, &cost_model_);
    declare_devices_per_host(flags, &devices_per_host_)
        .default_text("the plan's, or 8: the cost model torchrec alone goes by it");
    declare_bandwidths(flags, &bandwidths_);
    flags
        .text("output", "FILE",
              "write the plan with these costs to a file; - = to stdout, and nothing else there",
              &output_)
        .writes("plan");
  }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_ASSIGN_OR_RETURN(PlanAndTables input, load_plan_and_tables(input_));
    note_if_any(input.loaded.batch_note);
    const Workload& workload = input.loaded.workload;
    NEUROSHARD_ASSIGN_OR_RETURN(io::PlanDocument document, bind(input, input_.devices));
    NEUROSHARD_RETURN_IF_ERROR(count_plan_buffers(buffers_, document, input.loaded));
    NEUROSHARD_RETURN_IF_ERROR(
        check_memory(workload, document.plan, memory_).with_context(input.plan.source));
    const std::int32_t hosts = hosts_of(devices_per_host_, document);
    NEUROSHARD_ASSIGN_OR_RETURN(
        const NamedCostModels models,
        load_models_for_hosts(cost_model_, hosts, document.plan.devices, bandwidths_));
    note_unknown_hosts(flags, models);
    note_unknown_bandwidths(flags, models);
    NEUROSHARD_ASSIGN_OR_RETURN(document.cost, costs_of(input, document.plan, models));
    if (output_) {
      document.batch_size = workload.batch_size;
      document.provenance = provenance_of(models, input.loaded.sha256,
                                          document.provenance.algorithm, document.provenance.seed);
      note_lost_places(input, document, "json");
      NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, io::format_plan(document)));
      if (*output_ == "-") return {};
    }
    return report(input.loaded.workload, document, models);
  }

 private:
  Status report(const Workload& workload, const io::PlanDocument& document,
                const NamedCostModels& models) const {
    const PlanCost& cost = document.cost;
    const Console console = Console::of(STDOUT_FILENO);
    return print("cost model " + describe(models) + "\nbatch " + with_commas(workload.batch_size) +
                 "\n\n" + plan_table(console, document.plan, cost, memory_) + "\n" +
                 console.paint("plan cost " + milliseconds(cost.cost_ms, cost.cost_ms) + " ms",
                               Style::kBold) +
                 " (simulated by the cost model)\n" +
                 (output_ ? "plan written to " + *output_ + "\n" : ""));
  }

  PlanInputFlags input_;
  std::int64_t memory_ = 0;
  std::optional<std::string> buffers_;
  std::string cost_model_ = kDefaultCostModel;
  std::int32_t devices_per_host_ = 0;
  TorchRecBandwidths bandwidths_;
  std::optional<std::string> output_;
};

}  // namespace

std::unique_ptr<Command> make_simulate_command() { return std::make_unique<SimulateCommand>(); }

}  // namespace neuroshard::apps
