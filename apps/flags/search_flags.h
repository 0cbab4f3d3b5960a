#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "apps/flags/flags.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"

namespace neuroshard::apps {

/// What the flags say about how to search, all but the algorithm. `options` is where they begin.
struct SearchFlags {
  PlanOptions options{.threads = 0};
  std::string row_splits = "any";
  std::string data_parallel = "off";
  std::string hot_rows = "off";
  std::optional<std::string> target{};  ///< the format whose trainer will run the plans

  /// Why that trainer has no tables in host memory; "" where it has, or none is named.
  [[nodiscard]] std::string host_memory_fault() const;
};

/// --time-limit, --evaluations, --row-splits, --data-parallel, --hot-rows, --hot-memory, --target,
/// --threads and --seed.
/// `limit` is what help says of where the command allows fewer row splits; "" where it does not.
void declare_search(FlagSet& flags, SearchFlags* out, const std::string& limit = "");

/// The same for searches at several settings: the time limit is for all of them.
void declare_frontier_search(FlagSet& flags, SearchFlags* out);

/// --host-memory; 0 stays when it is not given.
FlagSet::Flag& declare_host_memory(FlagSet& flags, std::int64_t* out);

/// Takes the host memory back where plans have nothing there: the cost models know nothing of it,
/// or `fault` says why, where it is not empty. A remark on standard error when the flag is given.
void limit_host_memory(const FlagSet& flags, const NamedCostModels& models,
                       const std::string& fault, Cluster* out);

/// The same for replan(), but --target.
void declare_replanning(FlagSet& flags, SearchFlags* out);

/// Completes the options by the words, the rules of the target's trainer among them; from now on an
/// interrupt ends searches, not the command.
void settle(SearchFlags* search);

/// Whether any of the algorithms goes by --row-splits.
bool makes_row_shards(std::span<const std::string> algorithms);

/// Remarks when --row-splits, --data-parallel or --hot-rows asks for what none of the algorithms
/// makes or the cost models know nothing of, and when none goes by --evaluations; `format` is the
/// trainer's, in words, where the options name rules of one. REQUIRES settled flags.
void note_search_flags(const FlagSet& flags, const SearchFlags& search,
                       std::span<const std::string> algorithms,
                       std::span<const NamedCostModels> models, std::string_view format = {});

/// How a refusal ends where a table may only be on every device and the search makes no such: with
/// the flags that would; "" elsewhere.
std::string flags_for_replicas(const PlanOptions& options, const Workload& workload,
                               std::int32_t devices, const CostModels& models);

}  // namespace neuroshard::apps
