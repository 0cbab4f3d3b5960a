#include <unistd.h>

#include <optional>
#include <string>

#include "apps/commands/costed_plan.h"
#include "apps/commands/plan_report.h"
#include "apps/commands/plan_setting.h"
#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/flags/exchange_flag.h"
#include "apps/make_commands.h"
#include "io/formats/plan_export.h"
#include "io/plans/plan_file.h"

namespace neuroshard::apps {
namespace {

class SimulateCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    declare_costed_plan(flags, &flags_);
    flags
        .text("output", "FILE",
              "write the plan with these costs to a file; - = to stdout, and nothing else there",
              &output_)
        .writes("plan");
  }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_ASSIGN_OR_RETURN(CostedPlan plan, load_costed_plan(flags, flags_));
    auto& [input, document, models, per_host] = plan;
    if (output_) {
      document.batch_size = plan.workload().batch_size;
      document.provenance = provenance_of(models, per_host, input.loaded.sha256,
                                          document.provenance.algorithm, document.provenance.seed);
      note_lost_places(input, document, io::kNativeFormat);
      NEUROSHARD_ASSIGN_OR_RETURN(
          const std::string text,
          io::export_plan(io::kNativeFormat, plan.workload(), document, {}));
      NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, text));
      if (*output_ == "-") return {};
    }
    return report(plan.workload(), document, models, other_cost_model(input.plan, models));
  }

 private:
  Status report(const Workload& workload, const io::PlanDocument& document,
                const NamedCostModels& models, const std::string& other) const {
    const PlanCost& cost = document.cost;
    const Console console = Console::of(STDOUT_FILENO);
    return print(
        "cost model " + describe(models) + other + "\nbatch " + with_commas(workload.batch_size) +
        "\n\n" + plan_table(console, document.plan, cost, document.setting.memory_bytes) + "\n" +
        console.paint(cost_text(cost.cost_ms, *document.cost_error), Style::kBold) +
        " (simulated by the cost model)\n" + error_line(*document.cost_error) +
        exchange_text(document.exchange) + (output_ ? "plan written to " + *output_ + "\n" : ""));
  }

  CostedPlanFlags flags_;
  std::optional<std::string> output_;
};

}  // namespace

std::unique_ptr<Command> make_simulate_command() { return std::make_unique<SimulateCommand>(); }

}  // namespace neuroshard::apps
