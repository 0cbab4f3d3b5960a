#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/commands/measure_report.h"
#include "apps/commands/plan_input.h"
#include "apps/commands/simulated_hardware.h"
#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/progress_bar.h"
#include "apps/console/words.h"
#include "apps/flags/backend_flag.h"
#include "apps/flags/common_flags.h"
#include "apps/flags/exchange_flag.h"
#include "apps/flags/host_flags.h"
#include "apps/make_commands.h"
#include "engine/core/hot_rows.h"
#include "engine/core/plan_bytes.h"
#include "engine/ground_truth/cpu/measure_hot_plan.h"
#include "engine/ground_truth/cuda/cuda_ground_truth.h"
#include "engine/ground_truth/cuda/rank_group.h"
#include "engine/ground_truth/make_ground_truth.h"
#include "engine/ground_truth/measure.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "engine/ground_truth/sim/profile_library.h"
#include "io/plans/plan_file.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

class MeasureCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    declare_plan_input(flags, &input_);
    flags
        .choice("backend", "NAME",
                "cuda (a GPU for every device under a launcher, else one in turn), cpu (this "
                "machine) or sim (a documented model)",
                &backend_, {"cuda", "cpu", "sim"})
        .required();
    flags.text("profile", "NAME|FILE",
               "for sim, the hardware: one of " + join(simulated_profile_names(), ", ") +
                   "; +LINKS picks other links",
               &profile_);
    declare_devices_per_host(flags, &devices_per_host_,
                             "; sim: of profiles with links between hosts")
        .default_text("the plan's, or the profile's");
    declare_exchange(flags, &exchange_, " (not here)").default_text("the plan's, or fp32");
    flags
        .text("cost-model", "NAME|FILE",
              "hold the plan's predicted cost beside; cuda takes the communication from it",
              &cost_model_)
        .reads()
        .default_text("for cuda, the shipped one of this GPU, or else " +
                      std::string(kDefaultCostModel));
    flags.integer("threads", "cpu: threads of the lookup", &options_.threads, 1, kMaxThreads)
        .default_text("one per hardware thread");
    flags.integer("runs", "timed runs, the median counts; half as many untimed",
                  &options_.timed_runs, 1, 1000);
    flags.seed("seed", "of the lookups", &options_.seed);
    flags
        .text("output", "FILE",
              "write the figures to a file; - = to stdout, and nothing else there", &output_)
        .writes();
  }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_ASSIGN_OR_RETURN(const io::Backend backend, backend_of(backend_));
    NEUROSHARD_RETURN_IF_ERROR(check_flags(backend, flags));
    NEUROSHARD_ASSIGN_OR_RETURN(const PlanAndTables input, load_plan_and_tables(input_));
    note_if_any(input.loaded.batch_note);
    NEUROSHARD_ASSIGN_OR_RETURN(io::PlanDocument document, bind(input, input_.devices));
    const Workload& workload = input.loaded.workload;
    const Hosts hosts = hosts_of(devices_per_host_, input, document);
    NEUROSHARD_ASSIGN_OR_RETURN(const ExchangeAsked asked,
                                exchange_of(exchange_, document.exchange));
    MeasureOutcome outcome;
    outcome.exchange = asked.format;
    if (backend != io::Backend::kSim && !is_exact(outcome.exchange)) {
      print_note(input.plan.source + ": exchanges in " + to_string(outcome.exchange) +
                 " are not measured, here they are fp32");
      outcome.exchange = {};
    }
    outcome.plan = std::move(document.plan);
    outcome.batch_size = workload.batch_size;
    options_.warmup_runs = untimed_runs(options_.timed_runs);
    outcome.runs = options_.timed_runs;
    outcome.seed = options_.seed;
    outcome.plan_sha256 = input.plan.sha256;
    outcome.tables_sha256 = input.loaded.sha256;
    if (backend == io::Backend::kSim) {
      NEUROSHARD_RETURN_IF_ERROR(simulate(input, hosts.devices, outcome));
      NEUROSHARD_RETURN_IF_ERROR(predict_if_known(input, hosts, outcome));
      return show(outcome);
    }
    const bool runs_hot_rows = backend == io::Backend::kCpu;
    NEUROSHARD_RETURN_IF_ERROR((runs_hot_rows
                                    ? check_measurable_with_hot_rows(workload, outcome.plan)
                                    : check_measurable(workload, outcome.plan))
                                   .with_context(input.plan.source));
    NEUROSHARD_RETURN_IF_ERROR(predict(backend, input, hosts, outcome));
    std::int32_t world = 1;
    if (backend == io::Backend::kCuda) {
      NEUROSHARD_ASSIGN_OR_RETURN(world, RankGroup::world_from_environment());
    }
    if (world > 1) {
      NEUROSHARD_ASSIGN_OR_RETURN(const bool leads, measure_together(world, workload, outcome));
      if (!leads) return {};
    } else {
      NEUROSHARD_RETURN_IF_ERROR(measure(backend, workload, outcome));
    }
    return show(outcome);
  }

 private:
  [[nodiscard]] Status check_flags(io::Backend backend, const FlagSet& flags) const {
    const auto found = [&](const std::string& flag, const std::string& expected) {
      return invalid_input("--" + flag + ": found with --backend " + backend_ + ", expected with " +
                           expected);
    };
    const bool sim = backend == io::Backend::kSim;
    if (backend != io::Backend::kCpu && flags.given("threads")) return found("threads", "cpu");
    if (!sim && profile_) return found("profile", "sim");
    if (!sim && exchange_) return found("exchange", "sim");
    NEUROSHARD_ASSIGN_OR_RETURN(const ExchangeAsked asked, exchange_of(exchange_));
    if (asked.any) return invalid_input("--exchange: found 'auto', expected a format");
    if (!sim) return {};
    if (flags.given("runs")) return found("runs", "cuda or cpu");
    if (flags.given("seed")) return found("seed", "cuda or cpu");
    if (profile_) return {};
    return invalid_input("found no --profile, expected one of " +
                         join(simulated_profile_names(), ", "));
  }

  /// The file, if one is asked for, then what people see.
  Status show(const MeasureOutcome& outcome) {
    if (output_) NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, measure_json(outcome, backend_)));
    if (output_ == "-") return {};
    return print(measure_report(Console::of(STDOUT_FILENO), outcome));
  }

  Status simulate(const PlanAndTables& input, std::int32_t devices_per_host,
                  MeasureOutcome& outcome) {
    const std::int32_t devices = outcome.plan.devices;
    // What a plan of ours was made for says nothing against hardware without hosts.
    const bool insists = input.plan.format() != io::kNativeFormat;
    NEUROSHARD_ASSIGN_OR_RETURN(
        const ChosenProfile hardware,
        simulated_hardware(*profile_, {devices_per_host_, devices_per_host, insists}, devices));
    Result<PlanMeasurement> simulated =
        simulate_plan(hardware, input.loaded.workload, outcome.plan, outcome.exchange);
    if (!simulated.ok()) return simulated.status().with_context(input.plan.source);
    outcome.measurement = std::move(*simulated);
    outcome.runs = 1;
    outcome.hardware = neuroshard::describe(hardware);
    outcome.profile = hardware.profile.name + ", " + hardware.interconnect.name;
    outcome.description = io::printable(hardware.profile.description);
    outcome.devices_per_host = devices_on_a_host(hardware, devices);
    outcome.calibrated = is_calibrated(hardware);
    return {};
  }

  /// Beside a simulation, which knows more plans than cost models do.
  Status predict_if_known(const PlanAndTables& input, const Hosts& hosts, MeasureOutcome& outcome) {
    const Status status = predict(io::Backend::kSim, input, hosts, outcome);
    if (outcome.predicted || !outcome.models || status.code() != StatusCode::kInvalidInput) {
      return status;
    }
    print_note("no cost predicted by " + outcome.models->name + ": " + status.message());
    outcome.models.reset();
    return {};
  }

  Status predict(io::Backend backend, const PlanAndTables& input, const Hosts& hosts,
                 MeasureOutcome& outcome) {
    if (!cost_model_ && backend == io::Backend::kCuda) {
      cost_model_ = shipped_model_of_hardware(name_of_gpu());
    }
    if (!cost_model_) return {};
    NEUROSHARD_ASSIGN_OR_RETURN(outcome.models,
                                load_models_for_hosts(*cost_model_, hosts, outcome.plan.devices));
    NEUROSHARD_ASSIGN_OR_RETURN(outcome.predicted, costs_of(input, outcome.plan, *outcome.models,
                                                            {.devices_per_host = hosts.devices,
                                                             .exchange = outcome.exchange}));
    return {};
  }

  /// In a process a GPU, all of them reading the same files; whether this is the one that reports.
  Result<bool> measure_together(std::int32_t world, const Workload& workload,
                                MeasureOutcome& outcome) {
    if (world != outcome.plan.devices) {
      return invalid_input("--backend cuda: found " + std::to_string(world) +
                           " processes for a plan of " + std::to_string(outcome.plan.devices) +
                           " devices, expected as many, or one on its own");
    }
    const std::vector<std::int64_t> bytes = device_bytes(workload, outcome.plan, StepBuffers::kOff);
    options_.max_memory_bytes = *std::max_element(bytes.begin(), bytes.end());
    NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<RankGroup> group, RankGroup::join(options_));
    NEUROSHARD_ASSIGN_OR_RETURN(outcome.measurement, group->measure(workload, outcome.plan));
    outcome.hardware = std::to_string(world) + " x " + group->hardware();
    outcome.conditions = group->conditions();
    if (!group->leads()) {
      NEUROSHARD_RETURN_IF_ERROR(group->follow());
      return false;
    }
    NEUROSHARD_RETURN_IF_ERROR(group->end({}));
    return true;
  }

  Status measure(io::Backend backend, const Workload& workload, MeasureOutcome& outcome) {
    const std::vector<std::int64_t> bytes = device_bytes(workload, outcome.plan, StepBuffers::kOff);
    options_.max_memory_bytes = *std::max_element(bytes.begin(), bytes.end());
    NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<GroundTruth> truth,
                                make_ground_truth(backend, options_));
    ProgressBar progress;
    MeasureOptions options;
    options.measure_comm = backend == io::Backend::kCpu;
    options.models = outcome.models ? &outcome.models->models : nullptr;
    options.progress = &progress;
    const bool hot = !hot_rows(outcome.plan).empty();
    NEUROSHARD_ASSIGN_OR_RETURN(outcome.measurement,
                                hot ? measure_hot_plan(workload, outcome.plan, options_, &progress)
                                    : measure_plan(*truth, workload, outcome.plan, options));
    outcome.hardware = truth->hardware();
    outcome.conditions = truth->conditions();
    return {};
  }

  PlanInputFlags input_;
  std::string backend_;
  std::optional<std::string> cost_model_;
  std::optional<std::string> profile_;
  std::optional<std::string> output_;
  std::int32_t devices_per_host_ = 0;
  std::optional<std::string> exchange_;
  GroundTruthOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_measure_command() { return std::make_unique<MeasureCommand>(); }

}  // namespace neuroshard::apps
