#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "apps/commands/iteration_report.h"
#include "apps/commands/plan_input.h"
#include "apps/commands/simulated_hardware.h"
#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/words.h"
#include "apps/flags/common_flags.h"
#include "apps/flags/host_flags.h"
#include "apps/make_commands.h"
#include "engine/core/cluster.h"
#include "engine/ground_truth/sim/iteration_file.h"
#include "engine/ground_truth/sim/iteration_plan.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "engine/iteration/chrome_trace.h"
#include "io/models/dense_model_file.h"
#include "io/plans/plan_file.h"

namespace neuroshard::apps {
namespace {

class IterationCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags.text("tables", "FILE", "the tables of the model; - = stdin", &input_.tables)
        .required()
        .reads();
    flags.text("model", "FILE", "what the model computes beside its tables", &model_)
        .required()
        .reads();
    flags.text("plan", "FILE", "where the tables are; without, a plan is made", &plan_)
        .reads("plan");
    flags
        .integer("devices", "number of devices, where no plan holds it", &input_.devices, 1,
                 kMaxDevices)
        .default_text("the plan's");
    flags
        .bytes("device-memory", "without --plan: memory for tables on each device",
               &cluster_.memory_bytes)
        .default_text("none, one of the two is needed");
    flags
        .text("profile", "NAME|FILE",
              "the hardware: one of " + join(simulated_profile_names(), ", ") +
                  "; +LINKS picks other links",
              &profile_)
        .required();
    declare_devices_per_host(flags, &devices_per_host_, "; of profiles with links between hosts")
        .default_text("the plan's, or the profile's");
    declare_batch_size(flags, &input_.batch_size);
    flags
        .text("output", "FILE",
              "write the figures to a file; - = to stdout, and nothing else there", &output_)
        .writes();
    flags
        .text("timeline", "FILE", "write what every device does when, a trace for Perfetto",
              &timeline_)
        .writes();
  }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_RETURN_IF_ERROR(check_flags(flags));
    NEUROSHARD_ASSIGN_OR_RETURN(const io::DenseModelFile model, io::read_dense_model(model_));
    IterationOutcome outcome;
    outcome.model_sha256 = model.sha256;
    if (plan_) {
      NEUROSHARD_RETURN_IF_ERROR(cost_given_plan(model.model, outcome));
    } else {
      NEUROSHARD_RETURN_IF_ERROR(cost_own_plan(model.model, outcome));
    }
    if (timeline_)
      NEUROSHARD_RETURN_IF_ERROR(deliver(*timeline_, format_chrome_trace(outcome.cost)));
    if (output_) NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, iteration_json(outcome)));
    if (output_ == "-" || timeline_ == "-") return {};
    return print(iteration_report(Console::of(STDOUT_FILENO), outcome));
  }

 private:
  [[nodiscard]] Status check_flags(const FlagSet& flags) const {
    if (output_ == "-" && timeline_ == "-") {
      return invalid_input(
          "--timeline: found - beside --output -, expected a file for one of them");
    }
    if (plan_) {
      if (!flags.given("device-memory")) return {};
      return invalid_input("--device-memory: found with --plan, expected with --devices alone");
    }
    if (!flags.given("devices")) {
      return invalid_input("found no --plan and no --devices, expected one of the two");
    }
    if (flags.given("device-memory")) return {};
    return invalid_input(
        "found --devices without --device-memory, expected memory for tables on "
        "each device, such as 80GB or 24GiB");
  }

  Status cost_given_plan(const DenseModel& model, IterationOutcome& outcome) {
    input_.plan = *plan_;
    NEUROSHARD_ASSIGN_OR_RETURN(const PlanAndTables input, load_plan_and_tables(input_));
    note_if_any(input.loaded.batch_note);
    NEUROSHARD_ASSIGN_OR_RETURN(io::PlanDocument document, bind(input, input_.devices));
    outcome.plan = std::move(document.plan);
    outcome.plan_sha256 = input.plan.sha256;
    const bool insists = input.plan.format() != io::kNativeFormat;
    NEUROSHARD_ASSIGN_OR_RETURN(
        const ChosenProfile hardware,
        simulated_hardware(profile_, {devices_per_host_, document.places.devices_per_host, insists},
                           outcome.plan.devices));
    return cost(hardware, input.loaded, model, input.plan.source, outcome);
  }

  Status cost_own_plan(const DenseModel& model, IterationOutcome& outcome) {
    NEUROSHARD_ASSIGN_OR_RETURN(const LoadedWorkload loaded,
                                load_workload(input_.tables, input_.batch_size));
    note_if_any(loaded.batch_note);
    cluster_.devices = input_.devices;
    NEUROSHARD_ASSIGN_OR_RETURN(
        const ChosenProfile hardware,
        simulated_hardware(profile_, {devices_per_host_, 0, false}, cluster_.devices));
    cluster_.devices_per_host = devices_on_a_host(hardware, cluster_.devices);
    NEUROSHARD_ASSIGN_OR_RETURN(IterationPlan made,
                                plan_iteration(hardware, loaded.workload, cluster_, model));
    outcome.plan = std::move(made.plan);
    outcome.made_by = made.made_by;
    return cost(hardware, loaded, model, input_.tables, outcome);
  }

  static Status cost(const ChosenProfile& hardware, const LoadedWorkload& loaded,
                     const DenseModel& model, const std::string& source,
                     IterationOutcome& outcome) {
    Result<IterationOutcome> found =
        simulate_outcome(hardware, loaded.workload, std::move(outcome.plan), model);
    if (!found.ok()) return found.status().with_context(source);
    found->made_by = outcome.made_by;
    found->plan_sha256 = outcome.plan_sha256;
    found->model_sha256 = outcome.model_sha256;
    found->tables_sha256 = loaded.sha256;
    outcome = std::move(*found);
    return {};
  }

  PlanInputFlags input_;
  std::string model_;
  std::optional<std::string> plan_;
  Cluster cluster_;
  std::string profile_;
  std::int32_t devices_per_host_ = 0;
  std::optional<std::string> output_;
  std::optional<std::string> timeline_;
};

}  // namespace

std::unique_ptr<Command> make_iteration_command() { return std::make_unique<IterationCommand>(); }

}  // namespace neuroshard::apps
