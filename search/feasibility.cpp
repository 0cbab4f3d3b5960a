#include "search/feasibility.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "engine/core/bytes.h"
#include "engine/core/decimal.h"
#include "search/piece_sizes.h"

namespace neuroshard::search {
namespace {

/// With a memory that reads otherwise than `proposed`, another one.
std::string devices_of(const Cluster& cluster, std::int64_t proposed) {
  return counted(cluster.devices, "device") + " of " +
         format_bytes_apart(cluster.memory_bytes, proposed);
}

std::string tables_of(std::size_t count) {
  return counted(static_cast<std::int64_t>(count), "table");
}

std::string tables_of(const Workload& workload) { return tables_of(workload.tables.size()); }

/// "2 tables on device 0 need 4.0 GiB, more than 1 device of 2.0 GiB holds": so many tables,
/// `which` of all; with `proposed` memory each, the devices would hold them.
std::string need_more(std::size_t tables, const std::string& which, std::int64_t bytes,
                      const Cluster& cluster, std::int64_t proposed) {
  return tables_of(tables) + which + (tables == 1 ? " needs " : " need ") + format_bytes(bytes) +
         ", more than " + devices_of(cluster, proposed) +
         (cluster.devices == 1 ? " holds" : " hold");
}

/// "columns, rows, 32 columns or more, on device 0": all that a table says of its sharding.
std::string limits_of(const TableSpace& table) {
  const std::int32_t columns = table.sharding.min_columns;
  std::string text = describe(table.sharding);
  if (table.sharding.columns && columns > kLeastColumns) {
    text += ", " + std::to_string(columns) + " columns or more";
  }
  return table.devices.all() ? text : text + ", on " + describe(table.devices);
}

/// A table's smallest largest piece when it is split as far as it goes, by columns or as `rows`
/// allow; the table itself where it is in none.
ShardShape finest_piece(const SearchSpace& space, std::int32_t index, const RowShapes& rows) {
  const TableSpace& own = space.of(index);
  const Table& table = *own.table;
  const std::int32_t dim = finest_dim(own);
  ShardShape finest = space.shape(index, table.rows, dim);
  const std::int32_t halves = may_halve_rows(own) ? rows.halves : 1;
  // A replica has all of the table, but its own part of the buffers.
  ShardShape replica = space.replica(index);
  if (rows.replicas < 2 || !may_be_replicated(own)) replica.rows = 0;
  for (const ShardShape& piece :
       {space.shape(index, even_block(own, rows.blocks), table.dim),
        space.shape(index, even_block_of_host(own, rows.host), dim),
        space.shape(index, finest_rows(table.rows, halves), table.dim), replica}) {
    const bool finer = space.bytes(piece) < space.bytes(finest);
    if (piece.rows > 0 && finer) finest = piece;
  }
  return finest;
}

/// The largest of those of all tables; the first of equal ones.
ShardShape largest_piece(const Problem& problem, const RowShapes& rows) {
  ShardShape largest;
  std::int64_t most = 0;
  for (std::size_t index = 0; index < problem.space.tables.size(); ++index) {
    const TableSpace& own = problem.space.tables[index];
    if (!has_pieces(own, rows)) continue;
    const ShardShape piece = finest_piece(problem.space, static_cast<std::int32_t>(index), rows);
    const std::int64_t bytes = problem.space.bytes(piece);
    if (bytes <= most) continue;
    largest = piece;
    most = bytes;
  }
  return largest;
}

/// The first table for which that holds, or -1.
template <typename Predicate>
std::int32_t find_table(const SearchSpace& space, Predicate holds) {
  const auto found = std::find_if(space.tables.begin(), space.tables.end(), holds);
  if (found == space.tables.end()) return -1;
  return static_cast<std::int32_t>(found - space.tables.begin());
}

/// ", nor of table 3 (user), table 5 (item) and 2 more tables": those behind the first.
std::string others_like_it(const Workload& workload, const std::vector<std::int32_t>& tables) {
  constexpr std::size_t kMostNamed = 8;
  std::string text;
  for (std::size_t k = 1; k < std::min(tables.size(), kMostNamed + 1); ++k) {
    text += (k == 1 ? ", nor of " : ", ") + table_label(workload, tables[k]);
  }
  if (tables.size() <= kMostNamed + 1) return text;
  const auto left = static_cast<std::int64_t>(tables.size() - kMostNamed - 1);
  return text + " and " + counted(left, "more table");
}

}  // namespace

const SearchSpace& on_more_devices(const Problem& problem) {
  return problem.on_more_devices == nullptr ? problem.space : *problem.on_more_devices;
}

std::vector<std::int32_t> tables_without_pieces(const Problem& problem, const RowShapes& rows) {
  std::vector<std::int32_t> found;
  for (std::size_t table = 0; table < problem.space.tables.size(); ++table) {
    if (has_pieces(problem.space.tables[table], rows)) continue;
    found.push_back(static_cast<std::int32_t>(table));
  }
  return found;
}

Status check_pieces(const Problem& problem, const RowShapes& rows) {
  const std::vector<std::int32_t> all = tables_without_pieces(problem, rows);
  if (all.empty()) return {};
  const std::int32_t none = all.front();
  const Table& table = problem.workload.tables[static_cast<std::size_t>(none)];
  return infeasible(table_label(problem.workload, none) + ": its sharding allows " +
                    limits_of(problem.space.of(none)) +
                    ", of which this search can make nothing with " + counted(table.rows, "row") +
                    " x " + counted(table.dim, "column") + others_like_it(problem.workload, all) +
                    ": " + std::string(kAllowWhole));
}

Status check_whole_tables(const Problem& problem) {
  const std::int32_t found =
      find_table(problem.space, [](const TableSpace& own) { return !own.sharding.whole; });
  if (found < 0) return {};
  return infeasible(table_label(problem.workload, found) + ": its sharding allows " +
                    describe(problem.space.of(found).sharding) +
                    ", and this algorithm splits no table: one that splits would do");
}

double filled_memory(const Problem& problem) {
  const auto memory = static_cast<double>(problem.cluster.memory_bytes);
  return static_cast<double>(bytes_of_all(problem.space)) / (memory * problem.cluster.devices);
}

std::optional<Shortage> shortage_in_all(const Problem& problem, const RowShapes& rows) {
  const std::int64_t total = bytes_of_all(problem.space);
  const std::int64_t memory = problem.cluster.memory_bytes;
  const std::int64_t needed = (total - 1) / memory + 1;
  if (needed <= problem.cluster.devices) return std::nullopt;
  const std::int64_t piece = problem.space.bytes(largest_piece(problem, rows));
  Shortage shortage;
  shortage.memory_bytes = std::max((total - 1) / problem.cluster.devices + 1, piece);
  shortage.blame =
      need_more(problem.workload.tables.size(), "", total, problem.cluster, shortage.memory_bytes);
  // No number of devices helps a piece that is larger than any of them, or tables bound to some.
  const std::int64_t each = whole_host(problem.cluster);
  const std::int64_t of_hosts = (needed + each - 1) / each * each;
  const bool devices_help =
      piece <= memory && of_hosts <= kMaxDevices &&
      !shortage_on_devices({problem.workload, problem.cluster, on_more_devices(problem)});
  if (devices_help) shortage.devices = static_cast<std::int32_t>(of_hosts);
  return shortage;
}

std::optional<Shortage> shortage_for_a_piece(const Problem& problem, const RowShapes& rows) {
  const Workload& workload = problem.workload;
  const ShardShape worst = largest_piece(problem, rows);
  const std::int64_t worst_bytes = problem.space.bytes(worst);
  if (worst_bytes <= problem.cluster.memory_bytes) return std::nullopt;
  const Table& table = workload.tables[static_cast<std::size_t>(worst.table)];
  const AllowedSharding& allowed = problem.space.of(worst.table).sharding;
  const bool columns = worst.rows == table.rows;
  const std::string finest = worst.replicated              ? " whole on every device"
                             : columns && !allowed.columns ? " whole"
                             : columns ? " even split to " + counted(worst.dim, "column")
                                       : " even split to " + counted(worst.rows, "row");
  const std::int64_t memory = problem.cluster.memory_bytes;
  return Shortage{table_label(workload, worst.table) + " needs " +
                      format_bytes_apart(worst_bytes, memory) + finest + ", devices have " +
                      format_bytes_apart(memory, worst_bytes),
                  worst_bytes, 0};
}

std::optional<Shortage> shortage_on_devices(const Problem& problem, const RowShapes&) {
  struct Bound {
    std::size_t tables = 0;
    std::int64_t bytes = 0;
  };
  std::map<std::vector<std::int32_t>, Bound> bound_to;
  for (std::size_t table = 0; table < problem.space.tables.size(); ++table) {
    const DeviceSet& devices = problem.space.tables[table].devices;
    if (devices.all()) continue;
    Bound& bound = bound_to[devices.devices()];
    ++bound.tables;
    bound.bytes += problem.space.whole_bytes(static_cast<std::int32_t>(table));
  }
  std::optional<Shortage> worst;
  std::int64_t most = problem.cluster.memory_bytes;
  for (const auto& [devices, bound] : bound_to) {
    const auto count = static_cast<std::int32_t>(devices.size());
    const std::int64_t each = (bound.bytes - 1) / count + 1;
    if (each <= most) continue;
    most = each;
    const Cluster own{.devices = count, .memory_bytes = problem.cluster.memory_bytes};
    worst = Shortage{
        need_more(bound.tables, " on " + describe(DeviceSet(devices)), bound.bytes, own, each),
        each, 0};
  }
  return worst;
}

std::int32_t whole_host(const Cluster& cluster) { return std::max(1, cluster.devices_per_host); }

std::string more_devices(const Cluster& cluster, std::int32_t devices) {
  const std::int32_t more = devices - cluster.devices;
  return counted(more, "more device");
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

Status no_arrangement(const Problem& problem, std::optional<std::int64_t> memory_that_fits) {
  const std::int64_t proposed = memory_that_fits.value_or(problem.cluster.memory_bytes);
  return infeasible(
      "found no way to fit " + tables_of(problem.workload) + " (" +
      format_bytes(bytes_of_all(problem.space)) + "), whole or split, on " +
      devices_of(problem.cluster, proposed) + ": " +
      (memory_that_fits ? memory_would_do(proposed) : "more memory per device may do"));
}

}  // namespace neuroshard::search
