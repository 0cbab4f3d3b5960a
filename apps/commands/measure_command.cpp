#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "apps/commands/plan_input.h"
#include "apps/commands/plan_report.h"
#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/progress_bar.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "apps/flags/backend_flag.h"
#include "apps/flags/common_flags.h"
#include "apps/flags/host_flags.h"
#include "apps/make_commands.h"
#include "engine/core/decimal.h"
#include "engine/core/plan_bytes.h"
#include "engine/ground_truth/cuda/rank_group.h"
#include "engine/ground_truth/make_ground_truth.h"
#include "engine/ground_truth/measure.h"
#include "io/json/json_writer.h"
#include "io/plans/plan_json.h"

namespace neuroshard::apps {
namespace {

/// Everything there is to report.
struct Outcome {
  Plan plan;
  std::int64_t batch_size = 0;
  int runs = 0;
  std::uint64_t seed = 0;
  std::string plan_sha256;
  std::string tables_sha256;
  PlanMeasurement measurement;
  std::optional<NamedCostModels> models;
  std::optional<PlanCost> predicted;
  std::string hardware;
  std::string conditions;
};

std::string communication_source(const Outcome& outcome) {
  return outcome.measurement.comm_measured ? "measured"
                                           : "predicted by " + describe(*outcome.models);
}

std::string measurement_table(const Console& console, const Outcome& outcome) {
  std::vector<Column> columns{{"device"},      {"shards"},     {"lookup forward ms"},
                              {"backward ms"}, {"compute ms"}, {"exchange forward ms"},
                              {"backward ms"}, {"total ms"}};
  if (outcome.predicted) {
    columns.push_back({"predicted compute ms"});
    columns.push_back({"error"});
  }
  TextTable table(columns);
  const double largest = outcome.measurement.cost.cost_ms;
  for (std::size_t d = 0; d < outcome.measurement.compute.size(); ++d) {
    const DeviceCost& device = outcome.measurement.cost.per_device[d];
    const ComputeTime& compute = outcome.measurement.compute[d];
    const auto shards =
        std::count_if(outcome.plan.shards.begin(), outcome.plan.shards.end(),
                      [&](const Shard& s) { return s.device == static_cast<std::int32_t>(d); });
    std::vector<std::string> cells{std::to_string(d), std::to_string(shards)};
    for (const double ms : {compute.forward_ms, compute.backward_ms, device.compute_ms,
                            device.forward_comm_ms, device.backward_comm_ms, device.total_ms()}) {
      cells.push_back(milliseconds(ms, largest));
    }
    if (outcome.predicted) {
      const double predicted = outcome.predicted->per_device[d].compute_ms;
      cells.push_back(milliseconds(predicted, largest));
      cells.push_back(fixed_decimals(100 * (predicted / device.compute_ms - 1), 1) + " %");
    }
    table.add(std::move(cells), device.total_ms() >= largest ? Style::kBold : Style::kPlain);
  }
  return table.render(console);
}

std::string report(const Console& console, const Outcome& outcome) {
  std::string text = "compute measured on " + outcome.hardware +
                     (outcome.measurement.at_once ? ", a GPU for every device, all at once"
                                                  : ", one device's shards after the other's") +
                     "\ncommunication " + communication_source(outcome) + "\n";
  text += "batch " + with_commas(outcome.batch_size) + ", median of " +
          counted(outcome.runs, "run") + "\n";
  if (!outcome.conditions.empty()) text += "at the end: " + outcome.conditions + "\n";
  text += "\n" + measurement_table(console, outcome) + "\n";
  const double cost = outcome.measurement.cost.cost_ms;
  text += console.paint("plan cost " + milliseconds(cost, cost) + " ms", Style::kBold);
  text += outcome.measurement.comm_measured ? " (measured)"
                                            : " (compute measured, communication predicted)";
  if (outcome.predicted) {
    text += ", predicted " + milliseconds(outcome.predicted->cost_ms, cost) + " ms by " +
            describe(*outcome.models);
  }
  return text + "\n";
}

std::string to_json(const Outcome& outcome, const std::string& backend) {
  io::JsonWriter json;
  json.begin_object();
  json.key("format").text("neuroshard-measurement");
  json.key("version").integer(1);
  json.key("backend").text(backend);
  json.key("hardware").text(outcome.hardware);
  json.key("conditions").text(outcome.conditions);
  json.key("batch_size").integer(outcome.batch_size);
  json.key("devices").integer(outcome.plan.devices);
  json.key("runs").integer(outcome.runs);
  json.key("seed").unsigned_integer(outcome.seed);
  json.key("plan_sha256").text(outcome.plan_sha256);
  json.key("tables_sha256").text(outcome.tables_sha256);
  json.key("compute").text("measured");
  json.key("communication").text(outcome.measurement.comm_measured ? "measured" : "predicted");
  json.key("cost_model").text(outcome.models ? outcome.models->name : "");
  if (outcome.models) {
    const ModelOrigin origin = origin_of(outcome.models->models);
    json.key("cost_model_hardware").text(origin.hardware);
    json.key("cost_model_provenance").text(word_of(origin.provenance));
  }
  json.key("cost_ms").number(outcome.measurement.cost.cost_ms);
  json.key("per_device");
  io::write_device_costs(json, outcome.measurement.cost.per_device);
  if (outcome.predicted) {
    json.key("predicted_cost_ms").number(outcome.predicted->cost_ms);
    json.key("predicted_per_device");
    io::write_device_costs(json, outcome.predicted->per_device);
  }
  json.end_object();
  return json.take();
}

class MeasureCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    declare_plan_input(flags, &input_);
    flags
        .choice("backend", "NAME",
                "cuda (a GPU for every device under a launcher, else one in turn) or cpu (this "
                "machine)",
                &backend_, {"cuda", "cpu"})
        .required();
    flags
        .text("cost-model", "NAME|FILE",
              "hold the plan's predicted cost beside; cuda takes the communication from it",
              &cost_model_)
        .reads()
        .default_text(std::string(kDefaultCostModel) + " for cuda, none for cpu");
    flags.integer("threads", "cpu: threads of the lookup", &options_.threads, 1, kMaxThreads)
        .default_text("one per hardware thread");
    flags.integer("runs", "timed runs; the median counts", &options_.timed_runs, 1, 1000);
    flags.seed("seed", "of the lookups", &options_.seed);
    flags
        .text("output", "FILE",
              "write the figures to a file; - = to stdout, and nothing else there", &output_)
        .writes();
  }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_ASSIGN_OR_RETURN(const io::Backend backend, backend_of(backend_));
    if (backend != io::Backend::kCpu && flags.given("threads")) {
      return invalid_input("--threads: found with --backend " + backend_ + ", expected with cpu");
    }
    NEUROSHARD_ASSIGN_OR_RETURN(const PlanAndTables input, load_plan_and_tables(input_));
    note_if_any(input.loaded.batch_note);
    NEUROSHARD_ASSIGN_OR_RETURN(io::PlanDocument document, bind(input, input_.devices));
    const Workload& workload = input.loaded.workload;
    NEUROSHARD_RETURN_IF_ERROR(
        check_measurable(workload, document.plan).with_context(input.plan.source));
    const std::int32_t hosts = document.places.devices_per_host;
    Outcome outcome;
    outcome.plan = std::move(document.plan);
    outcome.batch_size = workload.batch_size;
    outcome.runs = options_.timed_runs;
    outcome.seed = options_.seed;
    outcome.plan_sha256 = input.plan.sha256;
    outcome.tables_sha256 = input.loaded.sha256;
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
    if (output_) NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, to_json(outcome, backend_)));
    if (output_ == "-") return {};
    return print(report(Console::of(STDOUT_FILENO), outcome));
  }

 private:
  Status predict(io::Backend backend, const PlanAndTables& input, std::int32_t devices_per_host,
                 Outcome& outcome) {
    if (!cost_model_ && backend == io::Backend::kCuda) cost_model_ = kDefaultCostModel;
    if (!cost_model_) return {};
    NEUROSHARD_ASSIGN_OR_RETURN(
        outcome.models,
        load_models_for_hosts(*cost_model_, devices_per_host, outcome.plan.devices));
    NEUROSHARD_ASSIGN_OR_RETURN(outcome.predicted, costs_of(input, outcome.plan, *outcome.models));
    return {};
  }

  /// In a process a GPU, all of them reading the same files; whether this is the one that reports.
  Result<bool> measure_together(std::int32_t world, const Workload& workload, Outcome& outcome) {
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

  Status measure(io::Backend backend, const Workload& workload, Outcome& outcome) {
    const std::vector<std::int64_t> bytes = device_bytes(workload, outcome.plan, StepBuffers::kOff);
    options_.max_memory_bytes = *std::max_element(bytes.begin(), bytes.end());
    NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<GroundTruth> truth,
                                make_ground_truth(backend, options_));
    ProgressBar progress;
    MeasureOptions options;
    options.measure_comm = backend == io::Backend::kCpu;
    options.models = outcome.models ? &outcome.models->models : nullptr;
    options.progress = &progress;
    NEUROSHARD_ASSIGN_OR_RETURN(outcome.measurement,
                                measure_plan(*truth, workload, outcome.plan, options));
    outcome.hardware = truth->hardware();
    outcome.conditions = truth->conditions();
    return {};
  }

  PlanInputFlags input_;
  std::string backend_;
  std::optional<std::string> cost_model_;
  std::optional<std::string> output_;
  GroundTruthOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_measure_command() { return std::make_unique<MeasureCommand>(); }

}  // namespace neuroshard::apps
