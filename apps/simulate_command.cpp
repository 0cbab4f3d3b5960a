#include <unistd.h>

#include <optional>
#include <string>

#include "apps/common_flags.h"
#include "apps/console.h"
#include "apps/make_commands.h"
#include "apps/output.h"
#include "apps/plan_report.h"
#include "engine/planner.h"
#include "io/plan_file.h"

namespace neuroshard::apps {
namespace {

class SimulateCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags.text("tables", "FILE", "the tables of the plan; - = stdin", &tables_).required();
    flags.text("plan", "FILE", "a plan, as `neuroshard plan --output` writes it", &plan_)
        .required();
    declare_device_memory(flags, &memory_);
    declare_cost_model(flags, &cost_model_);
  }

  Status run(const FlagSet&) override {
    if (tables_ == "-" && plan_ == "-") {
      return invalid_input("--plan: found '-', expected a file while --tables reads stdin");
    }
    NEUROSHARD_ASSIGN_OR_RETURN(const io::PlanDocument document, io::read_plan(plan_));
    // The plan says which batch it is for; the file's own value may have been overridden.
    NEUROSHARD_ASSIGN_OR_RETURN(const LoadedWorkload loaded,
                                load_workload(tables_, document.batch_size));
    const Workload& workload = loaded.workload;
    NEUROSHARD_RETURN_IF_ERROR(validate(workload, document.plan).with_context(plan_));
    NEUROSHARD_RETURN_IF_ERROR(check_memory(workload, document.plan, memory_).with_context(plan_));
    NEUROSHARD_ASSIGN_OR_RETURN(const NamedCostModels models, load_cost_models(cost_model_));
    NEUROSHARD_ASSIGN_OR_RETURN(const PlanCost cost,
                                simulate(workload, document.plan, models.models));
    const Console console = Console::of(STDOUT_FILENO);
    return print("cost model " + describe(models) + "\n\n" +
                 plan_table(console, document.plan, cost, memory_) + "\n" +
                 console.paint("plan cost " + milliseconds(cost.cost_ms, cost.cost_ms) + " ms",
                               Style::kBold) +
                 " (simulated by the cost model)\n");
  }

 private:
  std::string tables_;
  std::string plan_;
  std::int64_t memory_ = 0;
  std::string cost_model_{kDefaultCostModel};
};

}  // namespace

std::unique_ptr<Command> make_simulate_command() { return std::make_unique<SimulateCommand>(); }

}  // namespace neuroshard::apps
