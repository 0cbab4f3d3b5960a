#include "engine/ground_truth/collect.h"

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/elapsed.h"
#include "engine/ground_truth/collect_directory.h"
#include "engine/ground_truth/random_sets.h"
#include "engine/ground_truth/request.h"
#include "io/cost_data/cost_data.h"
#include "io/tables/reference_tables.h"

namespace neuroshard {
namespace {

using Clock = std::chrono::steady_clock;

/// Lines reach the disk at least this often; a killed process loses none of them.
constexpr std::chrono::seconds kSyncEvery{1};
/// Progress is told at most this often: simulated samples take microseconds.
constexpr std::chrono::milliseconds kTellEvery{50};

constexpr std::int32_t kMaxTablesPerSet = 65536;

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
  if (options.row_parts < 1 || options.row_parts > kMaxDevices) {
    return wrong("row-parts", options.row_parts, "1 to " + std::to_string(kMaxDevices));
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

/// Measures samples from where the log ends up to options.samples; `line_of` measures sample number
/// s and gives its line.
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

/// The pool file has no place for data types and optimizers, so all tables must agree.
Status check_pool(const std::vector<Table>& pool, std::size_t tables) {
  for (std::size_t index = 0; index < pool.size(); ++index) {
    const Table& table = pool[index];
    const std::string where = "tables[" + std::to_string(index % tables) + "]";
    NEUROSHARD_RETURN_IF_ERROR(validate(table).with_context(where));
    if (table.data_type != DataType::kFp32) {
      return invalid_input(where + ": data_type is " + std::string(to_string(table.data_type)) +
                           ", expected fp32: cost data is collected in fp32");
    }
    NEUROSHARD_RETURN_IF_ERROR(check_has_kernels(table, where));
    if (table.optimizer != pool.front().optimizer) {
      return invalid_input(where + ": optimizer is " + std::string(to_string(table.optimizer)) +
                           ", expected " + std::string(to_string(pool.front().optimizer)) +
                           " like the first table's: a collection has one");
    }
  }
  return {};
}

/// What sets are drawn from: tables whole, then as many row shards of them.
struct Pool {
  std::vector<Table> whole;
  std::vector<Table> entries;  // as the pool file describes them

  Pool(std::vector<Table> tables, std::int32_t row_parts)
      : whole(std::move(tables)), entries(whole) {
    if (row_parts < 2) return;
    const std::vector<std::int32_t> parts = draw_row_parts(whole, row_parts);
    for (std::size_t k = 0; k < parts.size(); ++k) entries.push_back(row_part(whole[k], parts[k]));
  }

  /// Adds entry `id` to the set: its table, and the shard of it to measure.
  void add(std::int32_t id, Workload& workload, std::vector<Shard>& shards) const {
    const auto index = static_cast<std::size_t>(id);
    workload.tables.push_back(whole[index % whole.size()]);
    Shard shard = whole_table(workload, static_cast<std::int32_t>(shards.size()), 0);
    shard.row_end = entries[index].rows;
    shards.push_back(shard);
  }
};

}  // namespace

Result<CollectReport> collect_compute(GroundTruth& truth, const std::vector<Table>& tables,
                                      const CollectOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(check_options(options));
  std::vector<Table> whole = augmented_pool(tables, options.max_dim);
  NEUROSHARD_RETURN_IF_ERROR(check_pool(whole, tables.size()));
  const Pool pool(std::move(whole), options.row_parts);
  NEUROSHARD_ASSIGN_OR_RETURN(const SetDraw draw, SetDraw::make(pool.entries, options.max_tables,
                                                                options.max_memory_bytes));
  io::Collection settings = settings_of(io::CollectionKind::kCompute, truth, options);
  settings.flags["max-tables"] = std::to_string(options.max_tables);
  settings.flags["max-memory"] = std::to_string(options.max_memory_bytes);
  settings.flags["optimizer"] = to_string(pool.whole.front().optimizer);
  // Directories from before there were row shards go on as they were begun.
  if (options.row_parts > 1) {
    settings.flags[io::kRowPartsFlag] = std::to_string(options.row_parts);
  }
  NEUROSHARD_ASSIGN_OR_RETURN(
      io::AppendLog log,
      open_collection(options.output, settings, io::format_reference_tables(pool.entries)));

  return collect_lines(std::move(log), options, [&](std::int64_t sample) -> Result<std::string> {
    NEUROSHARD_ASSIGN_OR_RETURN(std::vector<std::int32_t> ids, draw.draw(options.seed, sample));
    Workload workload{{}, options.batch_size};
    std::vector<Shard> shards;
    for (const std::int32_t id : ids) pool.add(id, workload, shards);
    NEUROSHARD_ASSIGN_OR_RETURN(const ComputeTime time, truth.measure_compute(workload, shards));
    return io::format_line(io::ComputeSample{std::move(ids), time.total_ms});
  });
}

Result<CollectReport> collect_comm(GroundTruth& truth, const CollectOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(check_options(options));
  io::Collection settings = settings_of(io::CollectionKind::kComm, truth, options);
  settings.devices = options.devices;
  NEUROSHARD_ASSIGN_OR_RETURN(io::AppendLog log, open_collection(options.output, settings, ""));
  return collect_lines(std::move(log), options, [&](std::int64_t sample) -> Result<std::string> {
    ExchangeSample exchange = draw_exchange(options.seed, sample, options.devices, options.max_dim);
    NEUROSHARD_ASSIGN_OR_RETURN(
        CommTime time,
        truth.measure_all_to_all(exchange.dims, exchange.starts_ms, options.batch_size));
    return io::format_line(io::CommSample{std::move(exchange.dims), std::move(exchange.starts_ms),
                                          std::move(time.forward_ms), std::move(time.backward_ms)});
  });
}

}  // namespace neuroshard
