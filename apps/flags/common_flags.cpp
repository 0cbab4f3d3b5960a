#include "apps/flags/common_flags.h"

#include <unistd.h>

#include <algorithm>

#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/text_table.h"
#include "engine/core/cluster.h"
#include "engine/planner.h"
#include "io/file.h"
#include "io/tables/tables.h"

namespace neuroshard::apps {
namespace {

/// The numbers of devices whose costs are no guess.
std::string known_devices(const CostModels& models) {
  if (!models.comm) return "any";
  const CommModels& comm = *models.comm;
  if (comm.architecture == CommArchitecture::kFixedDevices) return std::to_string(comm.devices);
  if (comm.max_devices == 0) return "any";
  // One device exchanges nothing.
  const std::int32_t least = comm.min_devices == 2 ? 1 : comm.min_devices;
  return std::to_string(least) + " to " + std::to_string(comm.max_devices);
}

/// The algorithms that have a trait.
std::vector<std::string> algorithms_that(bool AlgorithmInfo::*trait) {
  std::vector<std::string> names;
  for (const AlgorithmInfo& info : algorithms()) {
    if (info.*trait) names.emplace_back(info.name);
  }
  return names;
}

bool any_of(std::span<const std::string> algorithms, const std::vector<std::string>& known) {
  return std::find_first_of(algorithms.begin(), algorithms.end(), known.begin(), known.end()) !=
         algorithms.end();
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
    const ModelOrigin& compute = named.models.compute_origin;
    const ModelOrigin& comm = named.models.comm_origin;
    table.add({named.name, simulated(named.models) ? "SIMULATED" : "measured",
               known_devices(named.models), std::string(to_string(known_row_splits(named.models))),
               hardware_of(compute), comm == compute ? "the same" : hardware_of(comm)});
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

FlagSet::Flag& declare_threads(FlagSet& flags, int* out) {
  return flags.integer("threads", "threads; results do not depend on it", out, 1, kMaxThreads)
      .default_text("one per hardware thread");
}

FlagSet::Flag& declare_search_threads(FlagSet& flags, int* out) {
  return flags
      .integer("threads", "threads; results do not depend on it, but for searches that time ends",
               out, 1, kMaxThreads)
      .default_text("one per hardware thread");
}

FlagSet::Flag& declare_time_limit(FlagSet& flags, double* out) {
  constexpr double kLongest = 1e6;
  return flags
      .number(
          "time-limit", "SECONDS",
          "then a search stops with the best plan so far; one that has none goes on to a second",
          out, {0, kLongest})
      .default_text("no limit, but 1 for refine and anneal");
}

FlagSet::Flag& declare_evaluations(FlagSet& flags, std::int64_t* out) {
  return flags
      .integer("evaluations",
               "plans, costed in full or estimated, after which refine and anneal stop, a few more "
               "for what they begin with and "
               "each walk ends with, instead of after a time: then the plan "
               "depends on neither the machine's speed nor --threads, only on its instruction set",
               out, 1, std::int64_t{1} << 50)
      .default_text("no limit");
}

FlagSet::Flag& declare_row_splits(FlagSet& flags, std::string* out, const std::string& limit) {
  return flags.choice("row-splits", "NAME",
                      "row shards that refine may make: off, even (a table over all devices, "
                      "TorchRec's row_wise) or any (also halves, quarters, .. on any devices); " +
                          limit + "whole rows with cost models that know no row shards",
                      out, {"off", "even", "any"});
}

FlagSet::Flag& declare_data_parallel(FlagSet& flags, std::string* out) {
  return flags.choice("data-parallel", "NAME",
                      "whether refine may have small tables whole on every device (TorchRec's "
                      "data_parallel), off or on; the cost model torchrec alone knows their cost",
                      out, {"off", "on"});
}

bool makes_row_shards(std::span<const std::string> algorithms) {
  return any_of(algorithms, algorithms_that(&AlgorithmInfo::makes_row_shards));
}

void note_search_flags(const FlagSet& flags, const std::string& row_splits, bool data_parallel,
                       std::span<const std::string> algorithms, const NamedCostModels& models) {
  const std::vector<std::string> heeding = algorithms_that(&AlgorithmInfo::heeds_evaluations);
  if (flags.given("evaluations") && !any_of(algorithms, heeding)) {
    print_note("--evaluations: changes nothing, only " + join(heeding, ", ") + " go by it");
  }
  const std::string makers = join(algorithms_that(&AlgorithmInfo::makes_row_shards), ", ");
  if (data_parallel && !makes_row_shards(algorithms)) {
    print_note("--data-parallel on: changes nothing, only " + makers + " goes by it");
  } else if (data_parallel && !knows_replicas(models.models)) {
    print_note("--data-parallel on: changes nothing, " + models.name +
               " knows no data-parallel tables");
  }
  if (!flags.given("row-splits") || row_splits == "off") return;
  if (!makes_row_shards(algorithms)) {
    print_note("--row-splits " + row_splits + ": changes nothing, only " + makers +
               " makes row shards");
    return;
  }
  const RowSplits known = known_row_splits(models.models);
  if (row_splits_of(row_splits) <= known) return;
  print_note("--row-splits " + row_splits + ": " + models.name + " knows no such row shards, " +
             instead_of_row_splits(known));
}

void note_guesses(const NamedCostModels& models, std::int32_t devices, const Workload& workload,
                  std::span<const DeviceCost> costs) {
  note_if_any(device_guess(models, devices));
  note_if_any(table_guess(models, workload.tables));
  note_if_any(dropped_samples(models, devices, workload.batch_size));
  note_if_any(negative_times(models, costs));
}

RowSplits row_splits_of(const std::string& word) {
  RowSplits row_splits = RowSplits::kOff;
  for (const RowSplits one : {RowSplits::kEven, RowSplits::kAny}) {
    if (word == to_string(one)) row_splits = one;
  }
  return row_splits;
}

std::string instead_of_row_splits(RowSplits used) {
  return used == RowSplits::kOff ? "rows stay whole" : "as with --row-splits even";
}

FlagSet::Flag& declare_batch_size(FlagSet& flags, std::optional<std::int64_t>* out) {
  return flags.integer("batch-size", "global batch size, instead of the file's", out, 1,
                       std::int64_t{1} << 40);
}

Result<LoadedWorkload> load_workload(const std::string& path,
                                     std::optional<std::int64_t> batch_size) {
  NEUROSHARD_ASSIGN_OR_RETURN(io::TableFile file, io::read_tables(path, batch_size));
  LoadedWorkload loaded;
  loaded.sha256 = file.sha256;
  loaded.modules = file.modules;
  const std::string source = io::source_name(path);
  loaded.batch_note = io::other_batch_note(file, source);
  NEUROSHARD_ASSIGN_OR_RETURN(loaded.workload, io::make_workload(file, source));
  return loaded;
}

}  // namespace neuroshard::apps
