#include "apps/commands/least_sure.h"

#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

#include "apps/commands/folder_writer.h"
#include "apps/console/output.h"
#include "apps/console/words.h"
#include "engine/core/decimal.h"
#include "engine/ground_truth/least_sure_sets.h"
#include "io/benchmark/set_benchmark.h"
#include "io/new_folder.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

constexpr std::string_view kWord = "least-sure ";
constexpr std::int64_t kFilesOfSets = 8;

Result<std::int64_t> sets_of(const std::string& choice) {
  std::int64_t sets = 0;
  if (choice.starts_with(kWord)) {
    const char* const end = choice.data() + choice.size();
    const auto [stop, error] = std::from_chars(choice.data() + kWord.size(), end, sets);
    if (error == std::errc() && stop == end && sets >= 1 && sets <= kCandidateSets) return sets;
  }
  return invalid_input("--for: found " + io::excerpt(choice) +
                       ", expected least-sure K, for K from 1 to " +
                       std::to_string(kCandidateSets) + " sets");
}

std::string summary(const io::SetBenchmark& benchmark, const NamedCostModels& models,
                    const std::string& output) {
  return counted(std::ssize(benchmark.sets), "set") + " of " + with_commas(benchmark.candidates) +
         ", about which the members of " + models.name + " differ by " +
         general_decimals(benchmark.sets.back().spread_ms, 3) + " to " +
         general_decimals(benchmark.sets.front().spread_ms, 3) +
         " ms (median of all: " + general_decimals(benchmark.median_spread_ms, 3) + ")\npython " +
         output + "/run_sets.py measures them, collect compute --from " + output +
         " takes the results\n";
}

}  // namespace

void declare_least_sure(FlagSet& flags, std::string* out) {
  flags
      .text("for", "least-sure K",
            "benchmark: instead of a plan, the K sets of shards of the tables that the members of "
            "the cost model disagree about most, to be measured one after the other on one device",
            out)
      .two_words();
}

Status export_least_sure(const FlagSet& flags, const std::string& choice,
                         const PlanInputFlags& input, ExportFlags& format,
                         const std::string& cost_model, const std::string& output) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t sets, sets_of(choice));
  const io::FolderFormat* const folder_format = io::find_folder_format(format.format);
  if (folder_format == nullptr || !folder_format->draws_lookups) {
    return invalid_input("--for: found with --format " + format.format +
                         ", expected with --format benchmark");
  }
  if (flags.given("plan")) {
    return invalid_input("--plan: found with --for, expected without: sets are of the tables");
  }
  if (release_of_model(cost_model)) {
    return invalid_input("--cost-model: found '" + cost_model +
                         "', expected trained cost models of several members: a formula has none");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const NamedCostModels models, load_cost_models(cost_model));
  NEUROSHARD_ASSIGN_OR_RETURN(const LoadedWorkload loaded,
                              load_workload(input.tables, input.batch_size));
  NEUROSHARD_RETURN_IF_ERROR(check_batch(models.models, loaded, input.tables, input.batch_size));
  note_if_any(loaded.batch_note);
  LeastSureOptions options{.sets = sets, .seed = format.options.lookup_seed};
  if (format.options.memory_limit > 0) options.max_memory_bytes = format.options.memory_limit;
  NEUROSHARD_ASSIGN_OR_RETURN(const io::SetBenchmark benchmark,
                              least_sure_sets(models, loaded.workload, options));
  format.options.draw_lookups = draws_from(format.options.lookup_seed);
  FolderWriter writer(kFilesOfSets);
  NEUROSHARD_ASSIGN_OR_RETURN(io::NewFolder folder, io::NewFolder::open(output));
  NEUROSHARD_RETURN_IF_ERROR(io::write_set_benchmark(
      benchmark, format.options, [&](std::string_view name, std::string_view bytes) {
        return writer.write(folder, name, bytes);
      }));
  NEUROSHARD_RETURN_IF_ERROR(folder.complete());
  const std::vector<std::string_view> unused{"devices", "devices-per-host", "bandwidths",
                                             "cache-hits", "profile"};
  note_unused_flags(flags, "a benchmark of sets", unused);
  return print(summary(benchmark, models, output));
}

}  // namespace neuroshard::apps
