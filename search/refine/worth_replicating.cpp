#include "search/refine/worth_replicating.h"

#include <algorithm>
#include <utility>

#include "search/refine/price_list.h"

namespace neuroshard::search {

std::vector<std::int32_t> worth_replicating(const Assignment& plan, const Problem& problem,
                                            const PlanEvaluator& evaluator,
                                            const ShapeCatalog& catalog) {
  const PriceList prices(plan, problem, evaluator, catalog);
  std::vector<std::pair<double, std::int32_t>> saved;
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    if (catalog.replica(table) == kNoEntry) continue;
    const CatalogEntry& whole = catalog.entry(catalog.whole(table));
    const CatalogEntry& replica = catalog.entry(catalog.replica(table));
    // In pieces, each device has its part of the table.
    const double in_pieces = (prices.compute(whole.shape) +
                              prices.of_dim() * static_cast<double>(whole.exchanged.dims)) /
                             problem.cluster.devices;
    const double everywhere =
        prices.compute(replica.shape) +
        prices.of_byte() * static_cast<double>(replica.exchanged.collectives.reduced_bytes);
    if (everywhere < in_pieces) saved.emplace_back(everywhere - in_pieces, table);
  }
  std::sort(saved.begin(), saved.end());
  std::vector<std::int32_t> tables;
  for (const auto& [minus_saved, table] : saved) tables.push_back(table);
  return tables;
}

}  // namespace neuroshard::search
