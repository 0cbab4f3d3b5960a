#include "apps/flags/search_flags.h"

#include <algorithm>

#include "apps/console/output.h"
#include "apps/console/words.h"
#include "apps/flags/common_flags.h"
#include "apps/interrupt.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/capability_words.h"
#include "engine/cost_model/first_lacking.h"
#include "io/formats/plan_formats.h"
#include "io/formats/plan_lint.h"

namespace neuroshard::apps {
namespace {

constexpr double kLongest = 1e6;  // seconds
constexpr std::int64_t kMostEvaluations = std::int64_t{1} << 50;
constexpr std::string_view kHugectr = "hugectr";
constexpr double kLargestRatio = 1e6;  // of rates

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

/// REQUIRES one of the flag's words.
RowSplits row_splits_of(const std::string& word) {
  RowSplits row_splits = RowSplits::kOff;
  for (const RowSplits one : {RowSplits::kEven, RowSplits::kAny}) {
    if (word == to_string(one)) row_splits = one;
  }
  return row_splits;
}

/// How a note ends that says that wider ones than `used` are not made.
std::string instead_of_row_splits(RowSplits used) {
  return used == RowSplits::kOff ? "rows stay whole" : "as with --row-splits even";
}

void declare_threads_and_seed(FlagSet& flags, PlanOptions* out, const std::string& seed) {
  flags
      .integer("threads", "threads; results do not depend on it, but for searches that time ends",
               &out->threads, 1, kMaxThreads)
      .default_text(out->threads == 1 ? "1, so that seconds compare" : "one per hardware thread");
  flags.seed("seed", seed, &out->seed);
}

/// --row-splits of a search in words, `limit` as in declare_search().
void declare_row_splits(FlagSet& flags, SearchFlags* out, const std::string& search,
                        const std::string& limit) {
  flags.choice("row-splits", "NAME",
               "row shards that " + search +
                   " may make: off, even (a table over all devices, "
                   "TorchRec's row_wise) or any (also halves, quarters, .. on any devices); " +
                   limit + "no more than the cost model knows, which are whole rows for some",
               &out->row_splits, {"off", "even", "any"});
}

void declare_data_parallel(FlagSet& flags, SearchFlags* out, const std::string& search) {
  flags.choice("data-parallel", "NAME",
               "whether " + search +
                   " may have small tables whole on every device (TorchRec's "
                   "data_parallel), off or on; an all-reduce of their gradients is counted",
               &out->data_parallel, {"off", "on"});
}

void declare_hot_rows(FlagSet& flags, SearchFlags* out) {
  flags.choice(
      "hot-rows", "NAME",
      "whether refine may have the rows of a table that are looked up most on every device "
      "beside the table's shards, off or on: their outputs are not exchanged, their "
      "gradients are added up; only json has a place for such plans. With --target torchrec of "
      "tables alone that its split model gains by (docs/TORCHREC.md)",
      &out->hot_rows, {"off", "on"});
  flags
      .bytes("hot-memory", "memory of each device that hot rows may take",
             &out->options.hot_memory_bytes)
      .default_text("what there is");
}

/// --row-splits, --data-parallel, --hot-rows and --target.
void declare_layouts(FlagSet& flags, SearchFlags* out, const std::string& limit) {
  declare_row_splits(flags, out, "refine and anneal", limit);
  const std::vector<std::string> targets = io::lint_targets();
  flags
      .choice("target", "NAME",
              "make only what this trainer can run, " + join(targets, " or ") +
                  ": row shards are even at most",
              &out->target, targets)
      .default_text("none: any layout that the cost model knows");
  declare_data_parallel(flags, out, "refine and anneal");
  declare_hot_rows(flags, out);
}

void note_hot_rows(const FlagSet& flags, const SearchFlags& search,
                   std::span<const std::string> algorithms, std::span<const NamedCostModels> models,
                   std::string_view format) {
  if (!search.options.hot_rows) {
    if (flags.given("hot-memory"))
      print_note("--hot-memory: changes nothing without --hot-rows on");
    return;
  }
  std::string why;
  const std::vector<std::string> holding = algorithms_that(&AlgorithmInfo::holds_hot_rows);
  if (!any_of(algorithms, holding)) {
    why = "only " + join(holding, ", ") + " goes by it";
  } else if (const NamedCostModels& one =
                 first_lacking(&Capabilities::hot_rows, models, &NamedCostModels::models);
             !capabilities(one.models).hot_rows) {
    why = lacks_hot_rows(one.name);
  } else if (!search.options.trainer.hot_rows) {
    why = search.target.value_or(std::string(format)) + " has no place for such";
  }
  if (!why.empty()) print_note("--hot-rows on: changes nothing, " + why);
}

}  // namespace

void declare_search(FlagSet& flags, SearchFlags* out, const std::string& limit) {
  flags
      .number(
          "time-limit", "SECONDS",
          "then a search stops with the best plan so far; one that has none goes on to a second",
          &out->options.time_limit_s, {0, kLongest})
      .default_text("no limit, but 1 for refine and anneal");
  flags
      .integer(
          "evaluations",
          "plans, costed in full or estimated, after which refine, anneal and surco stop, a "
          "few more for what they begin with and each walk ends with, instead of after a time: "
          "then the plan depends on neither the machine's speed nor --threads, only on its "
          "instruction set; exact refuses to go through more",
          &out->options.evaluations, 1, kMostEvaluations)
      .default_text("no limit, but 20 for surco");
  declare_layouts(flags, out, limit);
  flags
      .number("memory-network-ratio", "RATIO",
              "how many times faster devices read their memory than they send, which hugectr goes "
              "by: its mem_comm_bw_ratio",
              &out->options.memory_network_ratio, {0, kLargestRatio})
      .default_text("7 on one host, 67 on several, as its configurations for H100 have it");
  declare_threads_and_seed(flags, &out->options, "of the algorithms that draw random numbers");
}

void declare_frontier_search(FlagSet& flags, SearchFlags* out) {
  flags
      .number("time-limit", "SECONDS", "for all searches together", &out->options.time_limit_s,
              {0, kLongest})
      .default_text("10, or no limit with --evaluations");
  flags
      .integer("evaluations",
               "plans, costed in full or estimated, after which each search stops, some more for "
               "what it ends with, instead of after a time: then the plans depend on "
               "neither the machine's speed nor --threads, only on its instruction set",
               &out->options.evaluations, 1, kMostEvaluations)
      .default_text("no limit");
  declare_layouts(flags, out, "");
  declare_threads_and_seed(flags, &out->options, "of the random numbers");
}

FlagSet::Flag& declare_host_memory(FlagSet& flags, std::int64_t* out) {
  return flags
      .bytes(
          "host-memory",
          "memory of each host for tables that the devices have no room for, or too little for a "
          "cheap plan; they are read from there (TorchRec's fused_uvm), through a cache on the "
          "device where that is worth it (fused_uvm_caching); " +
              torchrec_alone("knows what that costs"),
          out)
      .default_text("none");
}

std::string SearchFlags::host_memory_fault() const {
  return target ? io::host_memory_fault(*target, {}) : "";
}

void limit_host_memory(const FlagSet& flags, const NamedCostModels& models,
                       const std::string& fault, Cluster* out) {
  const std::string why =
      capabilities(models.models).host_memory ? fault : lacks_host_memory(models.name);
  if (why.empty() || !flags.given("host-memory")) return;
  out->host_memory_bytes = 0;
  print_note("--host-memory: changes nothing, " + why);
}

void declare_replanning(FlagSet& flags, SearchFlags* out) {
  flags
      .number("time-limit", "SECONDS", "then the search stops with the best plan so far",
              &out->options.time_limit_s, {0, kLongest})
      .default_text("1, or no limit with --evaluations");
  flags
      .integer(
          "evaluations",
          "plans, costed in full or estimated, after which the search stops, some more for what "
          "it ends with, instead of after a time: then the plan depends on "
          "neither the machine's speed nor --threads, only on its instruction set",
          &out->options.evaluations, 1, kMostEvaluations)
      .default_text("no limit");
  declare_row_splits(flags, out, "the search", "");
  declare_data_parallel(flags, out, "the search");
  declare_threads_and_seed(flags, &out->options, "of the random numbers");
}

void settle(SearchFlags* search) {
  search->options.row_splits = row_splits_of(search->row_splits);
  search->options.data_parallel = search->data_parallel == "on";
  search->options.hot_rows = search->hot_rows == "on";
  if (search->target) search->options.trainer = io::target_rules(*search->target, {});
  search->options.cancel = &cancel_token();
}

bool makes_row_shards(std::span<const std::string> algorithms) {
  return any_of(algorithms, algorithms_that(&AlgorithmInfo::makes_row_shards));
}

void note_search_flags(const FlagSet& flags, const SearchFlags& search,
                       std::span<const std::string> algorithms,
                       std::span<const NamedCostModels> models, std::string_view format) {
  const std::string& row_splits = search.row_splits;
  const bool data_parallel = search.options.data_parallel;
  const std::vector<std::string> heeding = algorithms_that(&AlgorithmInfo::heeds_evaluations);
  if (flags.given("evaluations") && !any_of(algorithms, heeding)) {
    print_note("--evaluations: changes nothing, only " + join(heeding, ", ") + " go by it");
  }
  if (flags.given("memory-network-ratio") &&
      std::ranges::find(algorithms, kHugectr) == algorithms.end()) {
    print_note("--memory-network-ratio: changes nothing, only hugectr goes by it");
  }
  const std::string makers = join(algorithms_that(&AlgorithmInfo::makes_row_shards), ", ");
  if (data_parallel && !makes_row_shards(algorithms)) {
    print_note("--data-parallel on: changes nothing, only " + makers + " go by it");
  } else if (const NamedCostModels& one =
                 first_lacking(&Capabilities::replicas, models, &NamedCostModels::models);
             data_parallel && !capabilities(one.models).replicas) {
    print_note("--data-parallel on: changes nothing, " + lacks_replicas(one.name));
  }
  note_hot_rows(flags, search, algorithms, models, format);
  if (!flags.given("row-splits") || row_splits == "off") return;
  if (!makes_row_shards(algorithms)) {
    print_note("--row-splits " + row_splits + ": changes nothing, only " + makers +
               " make row shards");
    return;
  }
  const NamedCostModels& least = with_fewest_row_splits(models, &NamedCostModels::models);
  const RowSplits known = capabilities(least.models).row_splits;
  const RowSplits run = search.options.trainer.row_splits;
  if (run < known && run < search.options.row_splits) {
    print_note("--row-splits " + row_splits + ": " + search.target.value_or(std::string(format)) +
               " has no place for such, " + instead_of_row_splits(run));
    return;
  }
  if (row_splits_of(row_splits) <= known) return;
  print_note("--row-splits " + row_splits + ": " + lacks_such_rows(least.name) + ", " +
             instead_of_row_splits(known));
}

std::string flags_for_replicas(const PlanOptions& options, const Workload& workload,
                               std::int32_t devices, const CostModels& models) {
  const bool known = capabilities(models).replicas;
  // What makes the one makes the other.
  if (options.data_parallel && known && makes_row_shards({&options.algorithm, 1})) return "";
  const bool wanted =
      std::any_of(workload.tables.begin(), workload.tables.end(), [&](const Table& table) {
        const AllowedSharding& may = table.sharding;
        return !may.whole && !may.columns && !may.rows && table.devices.has_all(0, devices);
      });
  if (!wanted || devices == 1) return "";  // where there is one, it has all of every table
  return std::string("; refine makes tables data-parallel with ") +
         (known ? "" : "--cost-model " + std::string(kTorchRecCostModel) + " ") +
         (options.data_parallel && known ? "these flags" : "--data-parallel on");
}

}  // namespace neuroshard::apps
