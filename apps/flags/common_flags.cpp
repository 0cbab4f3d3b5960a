#include "apps/flags/common_flags.h"

#include <unistd.h>

#include <utility>

#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/text_table.h"
#include "engine/core/cluster.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/plan_error.h"
#include "engine/cost_model/validate_models.h"
#include "io/file.h"
#include "io/tables/tables.h"

namespace neuroshard::apps {
namespace {

/// The numbers of devices whose costs are no guess.
std::string devices_of(const Capabilities& known) {
  if (known.only_devices > 0) return std::to_string(known.only_devices);
  if (known.max_devices == 0) return "any";
  // One device exchanges nothing.
  const std::int32_t least = known.min_devices == 2 ? 1 : known.min_devices;
  return std::to_string(least) + " to " + std::to_string(known.max_devices);
}

/// In one word where both halves have the same; else which half was measured.
std::string provenance_of_halves(const ModelOrigin& compute, const ModelOrigin& comm) {
  const auto measured = [](const ModelOrigin& origin) {
    return origin.provenance == Provenance::kMeasured;
  };
  if (measured(compute) == measured(comm)) return measured(compute) ? "measured" : "SIMULATED";
  return measured(compute) ? "compute measured" : "exchanges measured";
}

Result<std::string> list_of_models() {
  TextTable table({{"cost model", Align::kLeft},
                   {"provenance", Align::kLeft},
                   {"devices"},
                   {"row splits", Align::kLeft},
                   {"compute of", Align::kLeft},
                   {"exchanges of", Align::kLeft}});
  for (std::size_t index = 0; index < shipped_model_count(); ++index) {
    NEUROSHARD_ASSIGN_OR_RETURN(const NamedCostModels named,
                                load_shipped_models(std::string(shipped_model_name(index))));
    const Capabilities known = capabilities(named.models);
    const ModelOrigin& compute = named.models.compute_origin;
    const ModelOrigin& comm = named.models.comm_origin;
    table.add({named.name, provenance_of_halves(compute, comm), devices_of(known),
               std::string(to_string(known.row_splits)), hardware_of(compute),
               comm == compute ? "the same" : hardware_of(comm)});
  }
  return table.render(Console::of(STDOUT_FILENO));
}

}  // namespace

FlagSet::Flag& declare_cost_model(FlagSet& flags, std::string* out) {
  return flags
      .text("cost-model", "NAME|FILE",
            "a shipped cost model or a file; `list` prints the shipped ones", out)
      .reads()
      .answers("list", list_of_models);
}

FlagSet::Flag& declare_devices(FlagSet& flags, std::int32_t* out) {
  return flags.integer("devices", "number of devices", out, 1, kMaxDevices).required();
}

FlagSet::Flag& declare_device_memory(FlagSet& flags, std::int64_t* out) {
  return flags
      .bytes("device-memory", "memory for tables on each device, such as 80GB or 24GiB", out)
      .required();
}

FlagSet::Flag& declare_plan_memory(FlagSet& flags, std::int64_t* out) {
  return flags
      .bytes("device-memory", "memory for tables on each device, such as 80GB or 24GiB", out)
      .default_text("the plan's; of plans that do not say it required");
}

FlagSet::Flag& declare_threads(FlagSet& flags, int* out) {
  return flags.integer("threads", "threads; results do not depend on it", out, 1, kMaxThreads)
      .default_text("one per hardware thread");
}

void note_guesses(const NamedCostModels& models, std::span<const std::int32_t> devices,
                  const Workload& workload, std::span<const DeviceCost> costs) {
  note_if_any(device_guess(models, devices));
  note_if_any(table_guess(models, workload.tables));
  for (const std::int32_t count : devices) {
    note_if_any(dropped_samples(models, count, workload.batch_size));
  }
  note_if_any(negative_times(models, costs));
  const std::string poor = poor_order(models.models);
  if (!poor.empty()) print_note(models.name + ": " + poor);
}

FlagSet::Flag& declare_batch_size(FlagSet& flags, std::optional<std::int64_t>* out) {
  return flags.integer("batch-size", "global batch size, instead of the file's", out, 1,
                       std::int64_t{1} << 40);
}

FlagSet::Flag& declare_buffers(FlagSet& flags, std::optional<std::string>* out) {
  std::vector<std::string> words;
  for (const StepBuffers buffers : all_step_buffers()) words.emplace_back(to_string(buffers));
  return flags
      .choice("buffers", "NAME",
              "lookups and outputs of a step that count as device memory beside the tables, as "
              "TorchRec's planner counts them for a pipeline: " +
                  join(words, ", "),
              out, words)
      .default_text("off");
}

StepBuffers buffers_of(const std::optional<std::string>& word, StepBuffers otherwise) {
  return word ? parse_step_buffers(*word).value() : otherwise;
}

Result<LoadedWorkload> load_workload(const std::string& path,
                                     std::optional<std::int64_t> batch_size) {
  NEUROSHARD_ASSIGN_OR_RETURN(io::TableFile file, io::read_tables(path, batch_size));
  LoadedWorkload loaded;
  loaded.sha256 = file.sha256;
  loaded.modules = std::move(file.modules);
  const std::string source = io::source_name(path);
  loaded.batch_note = io::other_batch_note(file, source);
  NEUROSHARD_ASSIGN_OR_RETURN(loaded.workload, io::make_workload(std::move(file), source));
  return loaded;
}

Status check_batch(const CostModels& models, const LoadedWorkload& loaded, const std::string& path,
                   std::optional<std::int64_t> batch_size) {
  const Status status = check_batch_size(models, loaded.workload.batch_size);
  if (status.ok()) return status;
  const std::string from = batch_size ? "--batch-size" : io::source_name(path);
  return invalid_input(from + ": " + status.message() +
                       (batch_size ? "" : "; --batch-size overrides the file's"));
}

}  // namespace neuroshard::apps
