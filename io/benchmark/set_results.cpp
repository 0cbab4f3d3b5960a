#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "io/benchmark/benchmark_json.h"
#include "io/benchmark/set_benchmark.h"
#include "io/file.h"
#include "io/json/json.h"
#include "io/sha256.h"
#include "io/tables/tables.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

constexpr const char* kResultsFormat = "neuroshard-benchmark-results";
constexpr double kLeastMs = 1e-9;  // above 0, far below any launch
// A median of both passes is not the sum of theirs, but never so far from it.
constexpr double kPartsApart = 2;

/// Fills the collection and the samples, without times. `shards`: those that there are.
Status read_benchmark(const JsonDocument& document, std::int64_t shards, MeasuredSets& measured) {
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject root, document.root().object());
  NEUROSHARD_RETURN_IF_ERROR(root.format(kBenchmarkFormat, 1));
  if (!root.has("sets")) {
    return document.root().error(
        "found a benchmark of a plan, expected one of shard sets, as `export --for 'least-sure K'` "
        "writes it");
  }
  Collection& collection = measured.collection;
  collection.kind = CollectionKind::kCompute;
  NEUROSHARD_ASSIGN_OR_RETURN(collection.batch_size, root.integer("batch_size", 1));
  NEUROSHARD_ASSIGN_OR_RETURN(collection.seed, root.unsigned_integer("seed"));
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject flags, root.object("flags"));
  for (std::size_t index = 0; index < flags.size(); ++index) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view text, flags.member(index).text());
    collection.flags[std::string(flags.key(index))] = text;
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray sets, root.array("sets"));
  for (const JsonValue set : sets) {
    NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray members, set.array());
    ComputeSample& sample = measured.samples.emplace_back();
    for (const JsonValue member : members) {
      NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t shard, member.integer(0, shards - 1));
      sample.tables.push_back(static_cast<std::int32_t>(shard));
    }
    if (sample.tables.empty()) return set.unexpected("at least one shard");
  }
  return {};
}

/// The hardware, as people are to see it, and with what it was measured.
Status read_hardware(JsonObject& root, Collection& collection) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue device, root.at("device"));
  if (!device.is_string() || (*device.text() != "cuda" && *device.text() != "cpu")) {
    return device.unexpected("'cuda' or 'cpu'");
  }
  collection.backend = *device.text() == "cuda" ? Backend::kCuda : Backend::kCpu;
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string hardware, root.shown_text("hardware"));
  if (hardware.empty()) {
    NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue nothing, root.at("hardware"));
    return nothing.unexpected("the hardware's name");
  }
  collection.hardware = hardware + " by PyTorch/FBGEMM";
  for (const char* library : {"torch", "fbgemm"}) {
    NEUROSHARD_ASSIGN_OR_RETURN(collection.flags[library], root.shown_text(library));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t runs, root.integer("runs", 1));
  NEUROSHARD_RETURN_IF_ERROR(root.integer("warmup", 0).status());
  collection.flags["timed-runs"] = std::to_string(runs);
  return {};
}

/// Results know the benchmark that they are of by its bytes.
Status check_same(JsonObject& root, std::string_view benchmark) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue value, root.at("benchmark_sha256"));
  if (value.is_string() && *value.text() == sha256_hex(benchmark)) return {};
  return value.unexpected("the SHA-256 of " + std::string(kBenchmarkFile) +
                          " beside it: these are results of another one");
}

Status read_times(JsonObject& root, std::vector<ComputeSample>& samples) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue value, root.at("sets"));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray sets, value.array());
  if (sets.size() != samples.size()) {
    return value.error("found " + std::to_string(sets.size()) + " sets, expected the " +
                       std::to_string(samples.size()) + " of " + kBenchmarkFile);
  }
  std::size_t index = 0;
  for (const JsonValue set : sets) {
    NEUROSHARD_ASSIGN_OR_RETURN(JsonObject times, set.object());
    double parts = 0;
    for (const char* key : {"forward_ms", "backward_ms"}) {
      NEUROSHARD_ASSIGN_OR_RETURN(const double ms, times.number(key, kLeastMs, kMaxCostMs));
      parts += ms;
    }
    double& total = samples[index++].cost_ms;
    NEUROSHARD_ASSIGN_OR_RETURN(total, times.number("total_ms", kLeastMs, kMaxCostMs));
    if (total < parts / kPartsApart || total > parts * kPartsApart) {
      NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue found, times.at("total_ms"));
      return found.unexpected("about " + format_number(parts) + ", its forward and backward pass");
    }
    NEUROSHARD_RETURN_IF_ERROR(times.finish());
  }
  return {};
}

}  // namespace

Result<MeasuredSets> read_measured_sets(const std::string& directory) {
  MeasuredSets measured;
  const std::string benchmark_path = file_in(directory, kBenchmarkFile);
  const std::string pool_path = file_in(directory, kPoolFile);
  const std::string results_path = file_in(directory, kResultsFile);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string benchmark, read_text_file(benchmark_path));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonDocument sets,
                              JsonDocument::parse(benchmark, benchmark_path));
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject root, sets.root().object());
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray shards, root.array("shards"));
  NEUROSHARD_RETURN_IF_ERROR(
      read_benchmark(sets, static_cast<std::int64_t>(shards.size()), measured));
  NEUROSHARD_ASSIGN_OR_RETURN(measured.pool, read_text_file(pool_path));
  NEUROSHARD_ASSIGN_OR_RETURN(const TableFile pool, parse_tables(measured.pool, pool_path));
  if (pool.tables.size() != shards.size() || !pool.has_dims) {
    return invalid_input(pool_path + ": found " + std::to_string(pool.tables.size()) +
                         " tables, expected the " + std::to_string(shards.size()) + " shards of " +
                         kBenchmarkFile + ", with dims");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string results, read_text_file(results_path));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonDocument found, JsonDocument::parse(results, results_path));
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject times, found.root().object());
  NEUROSHARD_RETURN_IF_ERROR(times.format(kResultsFormat, 1));
  NEUROSHARD_RETURN_IF_ERROR(check_same(times, benchmark));
  NEUROSHARD_RETURN_IF_ERROR(read_hardware(times, measured.collection));
  NEUROSHARD_RETURN_IF_ERROR(read_times(times, measured.samples));
  NEUROSHARD_RETURN_IF_ERROR(times.finish());
  measured.collection.flags["results-sha256"] = sha256_hex(results);
  return measured;
}

}  // namespace neuroshard::io
