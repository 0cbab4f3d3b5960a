#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "search/local/shape_catalog.h"
#include "search/plan_evaluator.h"

namespace neuroshard::search {

/// What a table is divided into.
enum class Division : unsigned char {
  kColumns,
  kRows,      ///< halves of its rows
  kBlocks,    ///< an even block on every device
  kReplicas,  ///< whole on every device
  kHosts,     ///< columns, each in even blocks on the devices of a host
};

/// The whole of a table, or the block that its pieces of that division are of; kNoEntry: it has
/// none.
EntryId undivided(const ShapeCatalog& catalog, std::int32_t table, Division division);

/// Columns, or the first division that the table may be in. REQUIRES that there is one.
Division usual_division(const ShapeCatalog& catalog, std::int32_t table);
/// That of each table.
std::vector<Division> usual_divisions(const ShapeCatalog& catalog);

/// Numbers of the costs, the highest first, of equals the first.
std::vector<std::int32_t> costliest_first(std::span<const double> costs);
/// All tables, those first that cost most whole, of equals the first.
std::vector<std::int32_t> costliest_tables(const PlanEvaluator& evaluator,
                                           const ShapeCatalog& catalog);

using Pieces = std::vector<EntryId>;

/// The largest piece that is left whole.
struct PieceLimits {
  std::int64_t bytes = 0;
  double weight = std::numeric_limits<double>::infinity();  ///< milliseconds, Divider::weight()
  double dim = std::numeric_limits<double>::infinity();     ///< of Exchanged::dims
};

/// Divides all tables of a catalog by halving. What it is made of must outlive it.
class Divider {
 public:
  /// `divisions`: one a table, or empty: the usual ones.
  Divider(const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
          std::span<const Division> divisions)
      : evaluator_(evaluator), catalog_(catalog), divisions_(divisions) {}

  /// From now on a dim weighs that many milliseconds beside the time of its lookups.
  void weigh_dims(double ms_per_dim) { ms_per_dim_ = ms_per_dim; }

  [[nodiscard]] Division division(std::int32_t table) const {
    return divisions_.empty() ? usual_division(catalog_, table)
                              : divisions_[static_cast<std::size_t>(table)];
  }
  /// Milliseconds that the piece costs a device that holds it, by itself.
  [[nodiscard]] double weight(EntryId id) const;
  /// What the piece is halved into, or none.
  [[nodiscard]] std::pair<EntryId, EntryId> parts_of(EntryId id) const;
  /// The pieces that it is in when it is halved as seldom as may be. REQUIRES parts_of().
  [[nodiscard]] Pieces halved(EntryId id) const;
  /// All tables, halved until no piece is beyond a limit or none can be halved.
  [[nodiscard]] Pieces divided(const PieceLimits& limits) const;

 private:
  void divide(EntryId id, const PieceLimits& limits, Pieces& pieces) const;

  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const std::span<const Division> divisions_;
  double ms_per_dim_ = 0;
};

}  // namespace neuroshard::search
