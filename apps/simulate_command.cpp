#include <unistd.h>

#include <string>

#include "apps/common_flags.h"
#include "apps/console.h"
#include "apps/make_commands.h"
#include "apps/output.h"
#include "apps/plan_input.h"
#include "apps/plan_report.h"
#include "engine/planner.h"

namespace neuroshard::apps {
namespace {

class SimulateCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    declare_plan_input(flags, &input_);
    declare_device_memory(flags, &memory_);
    declare_cost_model(flags, &cost_model_);
  }

  Status run(const FlagSet&) override {
    NEUROSHARD_ASSIGN_OR_RETURN(const PlanAndTables input, load_plan_and_tables(input_));
    const Workload& workload = input.loaded.workload;
    NEUROSHARD_ASSIGN_OR_RETURN(const io::PlanDocument document, bind(input, input_.devices));
    NEUROSHARD_RETURN_IF_ERROR(
        check_memory(workload, document.plan, memory_).with_context(input.plan.source));
    NEUROSHARD_ASSIGN_OR_RETURN(const NamedCostModels models, load_cost_models(cost_model_));
    NEUROSHARD_ASSIGN_OR_RETURN(const PlanCost cost, costs_of(input, document.plan, models.models));
    const Console console = Console::of(STDOUT_FILENO);
    return print("cost model " + describe(models) + "\n\n" +
                 plan_table(console, document.plan, cost, memory_) + "\n" +
                 console.paint("plan cost " + milliseconds(cost.cost_ms, cost.cost_ms) + " ms",
                               Style::kBold) +
                 " (simulated by the cost model)\n");
  }

 private:
  PlanInputFlags input_;
  std::int64_t memory_ = 0;
  std::string cost_model_ = kDefaultCostModel;
};

}  // namespace

std::unique_ptr<Command> make_simulate_command() { return std::make_unique<SimulateCommand>(); }

}  // namespace neuroshard::apps
