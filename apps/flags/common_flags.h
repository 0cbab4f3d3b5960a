#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/flags/flags.h"
#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "engine/cost_model/shipped_models.h"

namespace neuroshard::apps {

/// Most threads a flag accepts: a bound for mistyped numbers.
inline constexpr std::int64_t kMaxThreads = 1024;

/// --cost-model NAME|FILE, where `list` prints the shipped ones.
FlagSet::Flag& declare_cost_model(FlagSet& flags, std::string* out);
FlagSet::Flag& declare_devices(FlagSet& flags, std::int32_t* out);
FlagSet::Flag& declare_device_memory(FlagSet& flags, std::int64_t* out);
FlagSet::Flag& declare_threads(FlagSet& flags, int* out);
/// The same of a search, which time may end.
FlagSet::Flag& declare_search_threads(FlagSet& flags, int* out);
/// --time-limit of one search; 0 stays when it is not given.
FlagSet::Flag& declare_time_limit(FlagSet& flags, double* out);
/// --evaluations of one search; 0 stays when it is not given.
FlagSet::Flag& declare_evaluations(FlagSet& flags, std::int64_t* out);
/// --row-splits of one search: which row shards refine may make. `limit` is what help says of where
/// the command allows fewer; "" where it does not.
FlagSet::Flag& declare_row_splits(FlagSet& flags, std::string* out, const std::string& limit = "");
/// --data-parallel of one search, off or on: whether refine may have tables whole on every device.
FlagSet::Flag& declare_data_parallel(FlagSet& flags, std::string* out);
/// Whether any of the algorithms goes by --row-splits.
bool makes_row_shards(std::span<const std::string> algorithms);
/// Remarks when --row-splits or --data-parallel asks for what none of the algorithms makes or the
/// cost models know nothing of, and when none goes by --evaluations.
void note_search_flags(const FlagSet& flags, const std::string& row_splits, bool data_parallel,
                       std::span<const std::string> algorithms, const NamedCostModels& models);
/// Remarks when the cost models were trained on fewer or more devices, or other data types, only,
/// or do not count all samples of the batch, and when `costs`, which are shown, have times below 0.
void note_guesses(const NamedCostModels& models, std::int32_t devices, const Workload& workload,
                  std::span<const DeviceCost> costs);
/// REQUIRES one of that flag's words.
RowSplits row_splits_of(const std::string& word);
/// How a note ends that says that wider ones than `used` are not made.
std::string instead_of_row_splits(RowSplits used);
/// --batch-size, above the file's value.
FlagSet::Flag& declare_batch_size(FlagSet& flags, std::optional<std::int64_t>* out);

/// Tables ready for planning, and the sha256 of the file they came from.
struct LoadedWorkload {
  Workload workload;
  std::string sha256;
  std::vector<std::string> modules{};  ///< as in io::TableFile
  std::string batch_note{};            ///< io::other_batch_note()
};

/// Reads tables ("-" = standard input) and validates them. The batch size is `batch_size` when set,
/// else the file's, else 65,536. Errors: unreadable, malformed, or tables without dims.
Result<LoadedWorkload> load_workload(const std::string& path,
                                     std::optional<std::int64_t> batch_size);

}  // namespace neuroshard::apps
