#include "search/refine/cheapest_divisions.h"

#include <algorithm>
#include <array>
#include <limits>

namespace neuroshard::search {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// The first of equals counts.
constexpr std::array kDivisions{Division::kColumns, Division::kHosts, Division::kBlocks,
                                Division::kReplicas};

/// Of all holders of a piece, after halving.
double total_cost(EntryId id, double most, const PlanEvaluator& evaluator,
                  const ShapeCatalog& catalog) {
  if (id == kNoEntry) return kInfinity;
  const CatalogEntry& entry = catalog.entry(id);
  const double cost = evaluator.shape_cost(entry.shape);
  if (cost <= most || entry.first == kNoEntry) {
    // A block that is too heavy is no way out.
    return cost <= most || entry.spread == Spread::kNone ? catalog.holders(id) * cost : kInfinity;
  }
  return total_cost(entry.first, most, evaluator, catalog) +
         total_cost(entry.rest, most, evaluator, catalog);
}

Division cheapest_division(std::int32_t table, const DivisionRule& rule,
                           const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                           double& least) {
  Division cheapest = Division::kColumns;
  least = kInfinity;
  for (const Division division : kDivisions) {
    const EntryId id = undivided(catalog, table, division);
    double cost = total_cost(id, rule.most, evaluator, catalog);
    if (id != kNoEntry && catalog.entry(id).everywhere()) cost *= rule.everywhere;
    if (cost >= least) continue;
    least = cost;
    cheapest = division;
  }
  return cheapest;
}

}  // namespace

double cheapest_level(std::int32_t devices, const PlanEvaluator& evaluator,
                      const ShapeCatalog& catalog) {
  double total = 0;
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    double least = 0;
    cheapest_division(table, {kInfinity}, evaluator, catalog, least);
    total += least;
  }
  return total / devices;
}

std::vector<Division> cheapest_divisions(const DivisionRule& rule, const PlanEvaluator& evaluator,
                                         const ShapeCatalog& catalog) {
  std::vector<Division> divisions;
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    double least = 0;
    divisions.push_back(cheapest_division(table, rule, evaluator, catalog, least));
  }
  return divisions;
}

}  // namespace neuroshard::search
