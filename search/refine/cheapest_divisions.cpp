#include "search/refine/cheapest_divisions.h"

#include <algorithm>
#include <array>
#include <limits>

namespace neuroshard::search {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Times its cost, a piece that is too heavy and cannot be halved: nearly any other division of the
/// table is better.
constexpr double kTooHeavy = 1e6;

/// Of all holders of a piece, after halving.
double total_cost(EntryId id, const DivisionRule& rule, const PlanEvaluator& evaluator,
                  const ShapeCatalog& catalog) {
  if (id == kNoEntry) return kInfinity;
  const CatalogEntry& entry = catalog.entry(id);
  const double cost = evaluator.shape_cost(entry.shape);
  if (cost <= rule.most && !entry.only_parts) return catalog.holders(id) * cost;
  if (entry.first != kNoEntry) {
    return total_cost(entry.first, rule, evaluator, catalog) +
           total_cost(entry.rest, rule, evaluator, catalog);
  }
  if (entry.spread != Spread::kNone) return kInfinity;  // a block that is too heavy is no way out
  return cost <= rule.heavy ? cost : kTooHeavy * cost;
}

Division cheapest_division(std::int32_t table, const DivisionRule& rule,
                           const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                           double& least) {
  Division cheapest = usual_division(catalog, table);
  least = kInfinity;
  for (const Division division : adding_divisions()) {
    const EntryId id = undivided(catalog, table, division);
    double cost = total_cost(id, rule, evaluator, catalog);
    if (id != kNoEntry && catalog.entry(id).everywhere()) cost *= rule.everywhere;
    if (cost >= least) continue;
    least = cost;
    cheapest = division;
  }
  return cheapest;
}

}  // namespace

std::span<const Division> adding_divisions() {
  static constexpr std::array kDivisions{Division::kColumns, Division::kHosts, Division::kBlocks,
                                         Division::kReplicas};
  return kDivisions;
}

double least_balanced_load(std::int32_t devices, const PlanEvaluator& evaluator,
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
