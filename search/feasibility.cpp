#include "search/feasibility.h"

#include <algorithm>
#include <utility>

#include "engine/core/bytes.h"

namespace neuroshard::search {
namespace {

/// With a memory that reads otherwise than `proposed`, another one.
std::string devices_of(const Cluster& cluster, std::int64_t proposed) {
  return std::to_string(cluster.devices) + (cluster.devices == 1 ? " device of " : " devices of ") +
         format_bytes_apart(cluster.memory_bytes, proposed);
}

std::string tables_of(const Workload& workload) {
  const std::size_t count = workload.tables.size();
  return std::to_string(count) + (count == 1 ? " table" : " tables");
}

/// The largest of all pieces when every table is split as far as it goes, by columns or as `rows`
/// allow; the first of equal ones.
ShardShape largest_piece(const Problem& problem, const RowShapes& rows) {
  const Workload& workload = problem.workload;
  ShardShape largest;
  std::int64_t most = 0;
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    const Table& table = workload.tables[index];
    ShardShape piece{static_cast<std::int32_t>(index), table.rows, finest_dim(table.dim)};
    const std::int64_t block = rows.blocks > 1 ? even_block(table.rows, rows.blocks) : 0;
    const std::int64_t of_host = rows.host > 1 ? even_block(table.rows, rows.host) : 0;
    for (const auto& [part, dim] : {std::pair(block, table.dim),
                                    {of_host, piece.dim},
                                    {finest_rows(table.rows, rows.halves), table.dim}}) {
      const ShardShape shard{piece.table, part, dim};
      if (part > 0 && shard_bytes(workload, shard) < shard_bytes(workload, piece)) piece = shard;
    }
    const std::int64_t bytes = shard_bytes(workload, piece);
    if (bytes <= most) continue;
    largest = piece;
    most = bytes;
  }
  return largest;
}

}  // namespace

std::int32_t split_point(std::int32_t dim) { return dim < 8 ? 0 : (dim / 4 + 1) / 2 * 4; }

std::int32_t finest_dim(std::int32_t dim) {
  // The first part is a multiple of 4, which splits down to 4; only the rest can stay wider.
  while (split_point(dim) > 0) dim -= split_point(dim);
  return dim;
}

std::int64_t finest_column_bytes(const Workload& workload, std::int32_t table) {
  const Table& whole = workload.tables[static_cast<std::size_t>(table)];
  return shard_bytes(workload, {table, whole.rows, finest_dim(whole.dim)});
}

std::int64_t upper_half(std::int64_t rows) { return rows - rows / 2; }

std::int64_t finest_rows(std::int64_t rows, std::int32_t parts) {
  for (; parts > 1 && rows > 1; parts /= 2) rows = upper_half(rows);
  return rows;
}

std::int64_t even_block(std::int64_t rows, std::int32_t devices) {
  const std::int64_t block = block_rows(rows, devices);
  return block * (devices - 1) < rows ? block : 0;
}

Shard block_on(Shard whole, std::int64_t block, std::int32_t device) {
  whole.device = device;
  whole.row_begin = device * block;
  whole.row_end = std::min(whole.row_begin + block, whole.row_end);
  return whole;
}

std::string table_label(const Workload& workload, std::int32_t table) {
  const std::string& name = workload.tables[static_cast<std::size_t>(table)].name;
  return "table " + std::to_string(table) + (name.empty() ? "" : " (" + name + ")");
}

std::optional<Shortage> shortage_in_all(const Problem& problem, const RowShapes& rows) {
  const std::int64_t total = workload_bytes(problem.workload);
  const std::int64_t memory = problem.cluster.memory_bytes;
  const std::int64_t needed = (total - 1) / memory + 1;
  if (needed <= problem.cluster.devices) return std::nullopt;
  const std::int64_t piece = shard_bytes(problem.workload, largest_piece(problem, rows));
  Shortage shortage;
  shortage.memory_bytes = std::max((total - 1) / problem.cluster.devices + 1, piece);
  shortage.blame =
      tables_of(problem.workload) + (problem.workload.tables.size() == 1 ? " needs " : " need ") +
      format_bytes(total) + ", more than " + devices_of(problem.cluster, shortage.memory_bytes) +
      (problem.cluster.devices == 1 ? " holds" : " hold");
  // No number of devices helps a piece that is larger than any of them.
  const bool devices_help = piece <= memory && needed <= kMaxDevices;
  if (devices_help) shortage.devices = static_cast<std::int32_t>(needed);
  return shortage;
}

std::optional<Shortage> shortage_for_a_piece(const Problem& problem, const RowShapes& rows) {
  const Workload& workload = problem.workload;
  const ShardShape worst = largest_piece(problem, rows);
  const std::int64_t worst_bytes = shard_bytes(workload, worst);
  if (worst_bytes <= problem.cluster.memory_bytes) return std::nullopt;
  const bool columns = worst.rows == workload.tables[static_cast<std::size_t>(worst.table)].rows;
  const std::string finest =
      columns ? std::to_string(worst.dim) + " columns" : std::to_string(worst.rows) + " rows";
  const std::int64_t memory = problem.cluster.memory_bytes;
  return Shortage{table_label(workload, worst.table) + " needs " +
                      format_bytes_apart(worst_bytes, memory) + " even split to " + finest +
                      ", devices have " + format_bytes_apart(memory, worst_bytes),
                  worst_bytes, 0};
}

std::string more_devices(const Cluster& cluster, std::int32_t devices) {
  const std::int32_t more = devices - cluster.devices;
  return std::to_string(more) + " more " + (more == 1 ? "device" : "devices");
}

std::string memory_would_do(std::int64_t bytes) {
  return format_bytes_at_least(bytes) + " of memory per device would do";
}

Status needs_at_least(const Problem& problem, const Shortage& shortage) {
  const std::string devices =
      shortage.devices > 0 ? "at least " + more_devices(problem.cluster, shortage.devices) + ", or "
                           : "";
  return infeasible(shortage.blame + ": needs " + devices + "at least " +
                    format_bytes_at_least(shortage.memory_bytes) + " of memory per device");
}

Status check_total_memory(const Problem& problem, const RowShapes& rows) {
  const auto shortage = shortage_in_all(problem, rows);
  return shortage ? needs_at_least(problem, *shortage) : Status();
}

Status check_finest_pieces(const Problem& problem, const RowShapes& rows) {
  const auto shortage = shortage_for_a_piece(problem, rows);
  return shortage ? needs_at_least(problem, *shortage) : Status();
}

Status stopped_before_plan() { return cancelled("stopped before any feasible plan was found"); }

Status no_arrangement(const Problem& problem, std::int64_t memory_that_fits) {
  return infeasible("found no way to fit " + tables_of(problem.workload) + " (" +
                    format_bytes(workload_bytes(problem.workload)) + "), whole or split, on " +
                    devices_of(problem.cluster, memory_that_fits) + ": " +
                    memory_would_do(memory_that_fits));
}

}  // namespace neuroshard::search
