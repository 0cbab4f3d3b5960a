#include "engine/iteration/spread_plan.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <tuple>

#include "engine/core/row_blocks.h"

namespace neuroshard {
namespace {

/// Fewest lookups a sample of a table whose rows are divided: fewer are no work to share.
constexpr double kLeastPooling = 2;
/// Columns of a piece, and most pieces by columns: each looks all rows up again.
constexpr std::int32_t kLeastColumns = 32;

/// A part of a table that has no device yet.
struct Piece {
  Shard shard;
  double compute_ms = 0;
  double load_ms = 0;
};

std::vector<Piece> row_pieces(const Workload& workload, std::int32_t table, std::int32_t parts) {
  std::vector<Piece> pieces;
  const Shard whole = whole_table(workload, table, 0);
  const std::int64_t rows = block_rows(whole.row_end, parts);
  for (std::int64_t begin = 0; begin < whole.row_end; begin += rows) {
    Shard shard = whole;
    shard.row_begin = begin;
    shard.row_end = std::min(whole.row_end, begin + rows);
    pieces.push_back({shard});
  }
  return pieces;
}

std::vector<Piece> column_pieces(const Workload& workload, std::int32_t table, std::int32_t parts) {
  std::vector<Piece> pieces;
  const Shard whole = whole_table(workload, table, 0);
  const std::int32_t each = std::max(kLeastColumns, whole.column_end / parts / 4 * 4);
  for (std::int32_t begin = 0; begin < whole.column_end; begin += each) {
    Shard shard = whole;
    shard.column_begin = begin;
    // What is left of a narrow last piece goes to the one before it.
    const bool last = whole.column_end - begin < 2 * each;
    shard.column_end = last ? whole.column_end : begin + each;
    pieces.push_back({shard});
    if (last) break;
  }
  return pieces;
}

/// The smallest number of parts, a power of two or all devices, that are no larger than the limit.
std::int32_t parts_of(double compute_ms, double limit_ms, std::int32_t devices) {
  std::int32_t parts = 1;
  while (parts < devices && compute_ms > limit_ms * parts) parts = std::min(2 * parts, devices);
  return parts;
}

void add_pieces(const Workload& workload, std::int32_t table, const TableDemand& demand,
                std::int32_t parts, bool counts_exchange, std::vector<Piece>& all) {
  const Table& own = workload.tables[static_cast<std::size_t>(table)];
  const bool by_rows = own.pooled && own.pooling_factor >= kLeastPooling && own.rows >= parts;
  std::vector<Piece> pieces = by_rows || parts == 1 ? row_pieces(workload, table, parts)
                                                    : column_pieces(workload, table, parts);
  for (Piece& piece : pieces) {
    const double rows = static_cast<double>(piece.shard.rows()) / static_cast<double>(own.rows);
    const double columns = static_cast<double>(piece.shard.dim()) / own.dim;
    piece.compute_ms = demand.compute_ms * rows * columns;
    // A block of rows sends sums of all its columns.
    piece.load_ms = piece.compute_ms + (counts_exchange ? demand.exchange_ms * columns : 0);
    all.push_back(piece);
  }
}

/// Each to the least loaded device that has no other piece of its table.
void place(std::vector<Piece>& pieces, Plan& plan) {
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.load_ms > b.load_ms; });
  using Load = std::tuple<double, std::int32_t>;
  std::set<Load> loads;
  for (std::int32_t device = 0; device < plan.devices; ++device) loads.emplace(0.0, device);
  std::vector<std::set<std::int32_t>> tables(static_cast<std::size_t>(plan.devices));
  for (Piece& piece : pieces) {
    auto least = loads.begin();
    for (auto other = least; other != loads.end(); ++other) {
      if (tables[static_cast<std::size_t>(std::get<1>(*other))].contains(piece.shard.table)) {
        continue;
      }
      least = other;
      break;
    }
    const auto [load, device] = *least;
    loads.erase(least);
    loads.emplace(load + piece.load_ms, device);
    tables[static_cast<std::size_t>(device)].insert(piece.shard.table);
    piece.shard.device = device;
    plan.shards.push_back(piece.shard);
  }
}

std::int64_t table_bytes_of(const Table& table) { return row_bytes(table, table.dim) * table.rows; }

}  // namespace

std::vector<SpreadRule> spread_rules() {
  std::vector<SpreadRule> rules;
  for (const std::int64_t mib : {0, 1, 4, 13, 64}) {
    for (const double grain : {1.0, 0.5, 0.25}) {
      for (const bool exchange : {true, false}) rules.push_back({mib << 20, grain, exchange});
    }
  }
  return rules;
}

Plan make_spread_plan(const Workload& workload, const std::vector<TableDemand>& demand,
                      std::int32_t devices, const SpreadRule& rule) {
  Plan plan{devices, {}};
  double divided_ms = 0;
  std::vector<std::int32_t> divided;
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    const Table& own = workload.tables[static_cast<std::size_t>(table)];
    if (devices > 1 && table_bytes_of(own) < rule.replicated_bytes) {
      plan.shards.push_back(whole_table(workload, table, kEveryDevice));
      continue;
    }
    divided.push_back(table);
    divided_ms += demand[static_cast<std::size_t>(table)].compute_ms;
  }
  const double limit_ms = rule.grain * divided_ms / devices;
  std::vector<Piece> pieces;
  for (const std::int32_t table : divided) {
    const TableDemand& own = demand[static_cast<std::size_t>(table)];
    add_pieces(workload, table, own, parts_of(own.compute_ms, limit_ms, devices),
               rule.counts_exchange, pieces);
  }
  place(pieces, plan);
  canonicalize(plan);
  return plan;
}

}  // namespace neuroshard
