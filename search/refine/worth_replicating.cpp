#include "search/refine/worth_replicating.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>

namespace neuroshard::search {
namespace {

/// For slopes: of the mean dims, and gradients of a device.
constexpr std::int64_t kTenth = 10;
constexpr std::int64_t kMoreBytes = std::int64_t{16} << 20;

/// What a little more of everything takes in a plan, milliseconds.
class Prices {
 public:
  Prices(const Assignment& assignment, const Problem& problem, const PlanEvaluator& evaluator,
         const ShapeCatalog& catalog)
      : evaluator_(evaluator), plan_(problem, evaluator, catalog) {
    plan_.assign(assignment);
    dims_.assign(plan_.dim_sums().begin(), plan_.dim_sums().end());
    device_ = device_in_the_middle();
    price_travel();
  }

  /// Of the entry's compute on one device that has it beside its own.
  [[nodiscard]] double compute(EntryId entry) {
    const DeviceChange change{device_, {kNoPiece, kNoPiece}, {entry, kNoEntry}};
    return plan_.cost_with(change) - plan_.compute_ms()[static_cast<std::size_t>(device_)];
  }
  [[nodiscard]] double of_dim() const { return of_dim_; }    ///< on each device
  [[nodiscard]] double of_byte() const { return of_byte_; }  ///< of gradients that are added up

 private:
  [[nodiscard]] std::int32_t device_in_the_middle() const {
    std::vector<std::int32_t> order(dims_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
    const auto compute = [this](std::int32_t device) {
      return plan_.compute_ms()[static_cast<std::size_t>(device)];
    };
    std::nth_element(order.begin(), middle, order.end(), [&](std::int32_t a, std::int32_t b) {
      return std::pair(compute(a), a) < std::pair(compute(b), b);
    });
    return *middle;
  }

  void price_travel() {
    const std::int64_t mean = std::accumulate(dims_.begin(), dims_.end(), std::int64_t{0}) /
                              static_cast<std::int64_t>(dims_.size());
    const std::int64_t more = std::max<std::int64_t>(1, mean / kTenth);
    std::vector<float> compute;
    std::vector<std::int64_t> dims;
    for (const std::int64_t added : {std::int64_t{0}, more, std::int64_t{0}}) {
      compute.insert(compute.end(), plan_.compute_ms().begin(), plan_.compute_ms().end());
      for (const std::int64_t own : dims_) dims.push_back(own + added);
    }
    std::array<Collectives, 3> collectives;
    collectives.fill(plan_.collectives());
    for (Collectives& own : collectives) own.reduced_bytes += kMoreBytes * evaluator_.devices();
    collectives.back().reduced_bytes += kMoreBytes * evaluator_.devices();
    std::array<double, 3> costs{};
    Scratch scratch;
    evaluator_.plan_costs({3, compute, dims, collectives}, costs, scratch);
    of_dim_ = (costs[1] - costs[0]) / static_cast<double>(more);
    of_byte_ = (costs[2] - costs[0]) / static_cast<double>(kMoreBytes);
  }

  const PlanEvaluator& evaluator_;
  LocalPlan plan_;
  std::vector<std::int64_t> dims_;
  std::int32_t device_ = 0;
  double of_dim_ = 0;
  double of_byte_ = 0;
};

}  // namespace

std::vector<std::int32_t> worth_replicating(const Assignment& plan, const Problem& problem,
                                            const PlanEvaluator& evaluator,
                                            const ShapeCatalog& catalog) {
  Prices prices(plan, problem, evaluator, catalog);
  std::vector<std::pair<double, std::int32_t>> saved;
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    if (catalog.replica(table) == kNoEntry) continue;
    const CatalogEntry& whole = catalog.entry(catalog.whole(table));
    const CatalogEntry& replica = catalog.entry(catalog.replica(table));
    // In pieces, each device has its part of the table.
    const double in_pieces = (prices.compute(catalog.whole(table)) +
                              prices.of_dim() * static_cast<double>(whole.exchanged.dims)) /
                             problem.cluster.devices;
    const double everywhere =
        prices.compute(catalog.replica(table)) +
        prices.of_byte() * static_cast<double>(replica.exchanged.collectives.reduced_bytes);
    if (everywhere < in_pieces) saved.emplace_back(everywhere - in_pieces, table);
  }
  std::sort(saved.begin(), saved.end());
  std::vector<std::int32_t> tables;
  for (const auto& [minus_saved, table] : saved) tables.push_back(table);
  return tables;
}

}  // namespace neuroshard::search
