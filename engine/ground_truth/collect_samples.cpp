#include "engine/ground_truth/collect_samples.h"

#include <chrono>
#include <string>
#include <utility>

#include "engine/core/cluster.h"
#include "engine/core/decimal.h"
#include "engine/core/elapsed.h"

namespace neuroshard {
namespace {

using Clock = std::chrono::steady_clock;

/// Lines reach the disk at least this often; a killed process loses none of them.
constexpr std::chrono::seconds kSyncEvery{1};
/// Progress is told at most this often: simulated samples take microseconds.
constexpr std::chrono::milliseconds kTellEvery{50};

constexpr std::int32_t kMaxTablesPerSet = 65536;

}  // namespace

Status check_options(const CollectOptions& options) {
  const auto wrong = [](const std::string& what, std::int64_t found, const std::string& expected) {
    return invalid_input(what + " is " + std::to_string(found) + ", expected " + expected);
  };
  if (options.output.empty()) return invalid_input("no output directory");
  if (options.samples < 0) return wrong("samples", options.samples, "at least 0");
  if (options.batch_size < 1) return wrong("batch-size", options.batch_size, "at least 1");
  if (options.max_dim < 4 || options.max_dim % 4 != 0 || options.max_dim > kMaxDim) {
    return wrong("max-dim", options.max_dim, "a multiple of 4 up to " + std::to_string(kMaxDim));
  }
  if (options.max_tables < 1 || options.max_tables > kMaxTablesPerSet) {
    return wrong("max-tables", options.max_tables, "1 to " + std::to_string(kMaxTablesPerSet));
  }
  if (options.max_distinct < 0 || options.max_distinct > kMaxTablesPerSet) {
    return wrong("max-distinct", options.max_distinct, "0 to " + std::to_string(kMaxTablesPerSet));
  }
  if (options.row_parts < 1 || options.row_parts > kMaxDevices) {
    return wrong("row-parts", options.row_parts, "1 to " + std::to_string(kMaxDevices));
  }
  if (options.max_features < 1 || options.max_features > kMaxFeatures) {
    return wrong("max-features", options.max_features, "1 to " + std::to_string(kMaxFeatures));
  }
  if (!(options.not_pooled >= 0 && options.not_pooled <= 1)) {
    return invalid_input("not-pooled is " + general_decimals(options.not_pooled, 6) +
                         ", expected a share from 0 to 1");
  }
  if (options.max_memory_bytes < 1) {
    return wrong("max-memory", options.max_memory_bytes, "at least 1 byte");
  }
  if (options.devices < 1 || options.devices > kMaxDevices) {
    return wrong("devices", options.devices, "1 to " + std::to_string(kMaxDevices));
  }
  return {};
}

io::Collection settings_of(io::CollectionKind kind, const GroundTruth& truth,
                           const CollectOptions& options) {
  io::Collection settings;
  settings.kind = kind;
  settings.backend = truth.backend();
  settings.hardware = truth.hardware();
  settings.profile = truth.profile();
  settings.batch_size = options.batch_size;
  settings.seed = options.seed;
  settings.flags = options.settings;
  settings.flags.merge(truth.settings());
  settings.flags["max-dim"] = std::to_string(options.max_dim);
  return settings;
}

void add_pool_settings(const ShardPool& pool, const CollectOptions& options,
                       io::Collection& settings) {
  settings.flags["max-tables"] = std::to_string(options.max_tables);
  settings.flags["max-memory"] = std::to_string(options.max_memory_bytes);
  settings.flags["optimizer"] = to_string(pool.whole.front().optimizer);
  // Directories from before there was one of the following go on as they were begun.
  if (options.max_distinct > 0) {
    settings.flags["max-distinct"] = std::to_string(options.max_distinct);
  }
  if (options.every_dim) settings.flags["widths"] = "all";
  if (options.row_parts > 1) {
    settings.flags[io::kRowPartsFlag] = std::to_string(options.row_parts);
  }
  if (options.max_features > 1) {
    settings.flags["max-features"] = std::to_string(options.max_features);
  }
  if (options.not_pooled > 0)
    settings.flags["not-pooled"] = general_decimals(options.not_pooled, 6);
}

Result<ShardPool> make_pool(const GroundTruth& truth, const std::vector<Table>& tables,
                            const CollectOptions& options) {
  NEUROSHARD_ASSIGN_OR_RETURN(
      ShardPool pool,
      ShardPool::make(tables, options.max_dim, options.row_parts,
                      {options.max_features, options.not_pooled}, options.every_dim));
  if (!truth.knows_all_lookups()) {
    NEUROSHARD_RETURN_IF_ERROR(check_has_kernels(pool, tables.size()));
  }
  return pool;
}

Result<CollectReport> collect_lines(
    io::AppendLog log, const CollectOptions& options,
    const std::function<Result<std::string>(std::int64_t)>& line_of) {
  CollectReport report{log.lines(), 0, log.repaired_bytes(), 0};
  const Clock::time_point start = Clock::now();
  Clock::time_point synced = start;
  Clock::time_point told = start;
  const auto tell = [&] {
    if (options.progress == nullptr) return;
    options.progress->update("collecting", log.lines(), options.samples, "samples");
  };
  tell();  // before the first sample: where a resumed collection goes on
  Status status;
  while (log.lines() < options.samples) {
    if (options.cancel != nullptr && options.cancel->cancelled()) {
      status = cancelled("collection stopped after " + std::to_string(log.lines()) +
                         " samples; the same command goes on from there");
      break;
    }
    const Result<std::string> line = line_of(log.lines());
    if (!line.ok()) {
      status = line.status();
      break;
    }
    status = log.append(*line);
    if (!status.ok()) break;
    ++report.added;
    const Clock::time_point now = Clock::now();
    if (now - synced >= kSyncEvery) {
      NEUROSHARD_RETURN_IF_ERROR(log.sync());
      synced = now;
    }
    if (now - told >= kTellEvery) {
      tell();
      told = now;
    }
  }
  NEUROSHARD_RETURN_IF_ERROR(log.sync());
  NEUROSHARD_RETURN_IF_ERROR(status);
  tell();
  report.seconds = seconds_since(start);
  return report;
}

}  // namespace neuroshard
