#include "search/bounds/piece_costs.h"

#include <algorithm>
#include <cmath>

#include "search/piece_sizes.h"

namespace neuroshard::search {
namespace {

constexpr auto kGrain = static_cast<std::size_t>(kLeastColumns);
constexpr double kSame = 1 + 1e-12;  // but for rounding

/// Which pieces there are of one table, and what each costs.
class Pieces {
 public:
  Pieces(const Problem& problem, std::int32_t table, PlanEvaluator& evaluator, bool within_memory)
      : problem_(problem),
        space_(problem.space),
        own_(problem.space.of(table)),
        table_(table),
        evaluator_(evaluator),
        // Most tables fit whole, and then all their pieces do.
        watch_memory_(within_memory && !fits(problem.space.whole(table))) {}

  /// With so many rows, one of `row_blocks`; its bytes are those of a piece with `most_rows`.
  [[nodiscard]] ColumnCosts columns(std::int64_t rows, std::int64_t most_rows,
                                    std::int32_t row_blocks) const {
    const auto dim = static_cast<std::size_t>(own_.table->dim);
    const std::size_t odd = dim % kGrain;
    ColumnCosts costs;
    costs.even.reserve(dim / kGrain + 1);
    costs.even.push_back(0);
    for (std::size_t k = 1; k <= dim / kGrain; ++k) {
      costs.even.push_back(cost(rows, most_rows, kGrain * k, row_blocks));
    }
    for (std::size_t k = 0; odd > 0 && k <= dim / kGrain; ++k) {
      costs.ragged.push_back(cost(rows, most_rows, kGrain * k + odd, row_blocks));
    }
    return costs;
  }

  /// Blocks of a host, each as cheap as the cheaper of the first and the last, which may have
  /// fewer rows.
  [[nodiscard]] ColumnCosts on_host(std::int32_t host_devices) const {
    const std::int64_t block = even_block_of_host(own_, host_devices);
    if (block == 0) return {};
    const std::int64_t rest = own_.table->rows - block * (host_devices - 1);
    ColumnCosts costs = columns(block, block, host_devices);
    if (rest == block) return costs;
    const ColumnCosts last = columns(rest, block, host_devices);
    keep_less(last.even, costs.even);
    keep_less(last.ragged, costs.ragged);
    return costs;
  }

  void add_blocks(std::int32_t devices, PieceCosts& costs) const {
    const std::int64_t block = even_block(own_, devices);
    if (block == 0) return;
    const ShardShape shape = space_.shape(table_, block, own_.table->dim, devices);
    if (watch_memory_ && !fits(shape)) return;
    const std::int64_t rest = own_.table->rows - block * (devices - 1);
    const double first = evaluator_.additive_cost(shape);
    const double last =
        evaluator_.additive_cost(space_.shape(table_, rest, own_.table->dim, devices));
    costs.blocks = first * (devices - 1) + last;
    costs.block = std::min(first, last);
    costs.dearest = std::max(first, last);
  }

  [[nodiscard]] double replica() const {
    const ShardShape shape = space_.replica(table_);
    return watch_memory_ && !fits(shape) ? kNever : evaluator_.additive_cost(shape);
  }

 private:
  [[nodiscard]] bool fits(const ShardShape& shape) const {
    return space_.bytes(shape) <= problem_.cluster.memory_bytes;
  }

  /// Whether the table may be in pieces of so many columns, of all its rows or a part.
  [[nodiscard]] bool allows(std::int32_t columns, bool all_rows) const {
    if (columns == own_.table->dim) return own_.sharding.whole || !all_rows;
    return own_.sharding.allows_columns(columns);
  }

  [[nodiscard]] double cost(std::int64_t rows, std::int64_t most_rows, std::size_t columns,
                            std::int32_t row_blocks) const {
    const auto dim = static_cast<std::int32_t>(columns);
    if (!allows(dim, row_blocks == 0)) return kNever;
    if (watch_memory_ && !fits(space_.shape(table_, most_rows, dim, row_blocks))) return kNever;
    return evaluator_.additive_cost(space_.shape(table_, rows, dim, row_blocks));
  }

  static void keep_less(const std::vector<double>& other, std::vector<double>& costs) {
    for (std::size_t k = 0; k < costs.size(); ++k) costs[k] = std::min(costs[k], other[k]);
  }

  const Problem& problem_;
  const SearchSpace& space_;
  const TableSpace& own_;
  const std::int32_t table_;
  PlanEvaluator& evaluator_;
  const bool watch_memory_;
};

double most_of(const std::vector<double>& costs) {
  double most = 0;
  for (const double cost : costs) most = std::isfinite(cost) ? std::max(most, cost) : most;
  return most;
}

/// The least that any piece without odd columns counts for each 4 of its columns: what such pieces
/// count together is no less than that, times their columns.
double least_rate(const ColumnCosts& worth, const ColumnCosts& costs, double most) {
  double rate = kNever;
  for (std::size_t k = 1; k < costs.even.size(); ++k) {
    if (costs.even[k] <= most) rate = std::min(rate, worth.even[k] / static_cast<double>(k));
  }
  return rate;
}

}  // namespace

double PieceCosts::most() const {
  double dearest_piece = std::isfinite(dearest) ? dearest : 0;
  if (std::isfinite(replica)) dearest_piece = std::max(dearest_piece, replica);
  for (const ColumnCosts* each : {&columns, &on_host}) {
    dearest_piece = std::max({dearest_piece, most_of(each->even), most_of(each->ragged)});
  }
  return dearest_piece;
}

PieceCosts piece_costs(const Problem& problem, std::int32_t table, PlanEvaluator& evaluator,
                       const RowShapes& rows, bool within_memory) {
  const TableSpace& own = problem.space.of(table);
  const Pieces pieces(problem, table, evaluator, within_memory);
  PieceCosts costs;
  costs.columns = pieces.columns(own.table->rows, own.table->rows, 0);
  costs.on_host = pieces.on_host(rows.host);
  pieces.add_blocks(rows.blocks, costs);
  if (rows.replicas > 1 && may_be_replicated(own)) costs.replica = pieces.replica();
  return costs;
}

double pieces_of(const Table& table, const RowShapes& rows) {
  const double grains = 1 + table.dim / static_cast<double>(kGrain);
  return grains * (table.dim % kLeastColumns == 0 ? 1 : 2) * (rows.host > 1 ? 3 : 1);
}

double least_division(const ColumnCosts& worth, const ColumnCosts& costs, double most,
                      std::vector<double>& least, std::size_t widest) {
  if (costs.none()) return kNever;
  const std::size_t grains = costs.grains();
  const double rate = least_rate(worth, costs, most);
  if (costs.ragged.empty()) {
    // Mostly the whole table is the cheapest a column, and nothing has to be tried.
    const double at_best = std::isfinite(rate) ? rate * static_cast<double>(grains) : kNever;
    if (grains == 0 || grains > widest || at_best == kNever) return grains == 0 ? kNever : at_best;
    if (costs.even[grains] <= most && worth.even[grains] <= at_best * kSame) return at_best;
  } else if (grains > widest) {
    double total = kNever;
    for (std::size_t k = 0; k <= grains; ++k) {
      if (costs.ragged[k] > most) continue;
      const auto rest = static_cast<double>(grains - k);
      total = std::min(total, worth.ragged[k] + (rest > 0 ? rate * rest : 0));
    }
    return total;
  }
  least.assign(grains + 1, kNever);
  least[0] = 0;
  for (std::size_t k = 1; k <= grains; ++k) {
    if (costs.even[k] > most) continue;
    for (std::size_t columns = k; columns <= grains; ++columns) {
      least[columns] = std::min(least[columns], worth.even[k] + least[columns - k]);
    }
  }
  if (costs.ragged.empty()) return least[grains];
  double total = kNever;
  for (std::size_t k = 0; k <= grains; ++k) {
    if (costs.ragged[k] <= most) total = std::min(total, worth.ragged[k] + least[grains - k]);
  }
  return total;
}

double division_steps(const ColumnCosts& costs, std::size_t widest) {
  const auto size = static_cast<double>(costs.even.size());
  return costs.even.size() > widest ? size : size * size;
}

double cheapest_division(const PieceCosts& costs, const RowShapes& rows, double most,
                         std::vector<double>& least, std::size_t widest) {
  const double columns = std::min(
      least_division(costs.columns, costs.columns, most, least, widest),
      std::max(1, rows.host) * least_division(costs.on_host, costs.on_host, most, least, widest));
  const double blocks = costs.dearest <= most ? costs.blocks : kNever;
  const double replicas = costs.replica <= most ? rows.replicas * costs.replica : kNever;
  return std::min({columns, blocks, replicas});
}

}  // namespace neuroshard::search
