#include "search/refine/width_groups.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "search/local/column_cuts.h"
#include "search/local/local_plan.h"
#include "search/local/plan_coster.h"

namespace neuroshard::search {
namespace {

constexpr std::array kFewLanes{kColumnsOfEightLanes, kColumnsOfSixteenLanes};
/// Of what a device should have: pieces heavier than that are halved.
constexpr std::array<double, 3> kHeaviestPiece{1, 0.5, 0.25};
constexpr double kLighter = 0.9;              // times a piece, a half of it that is worth having
constexpr std::size_t kMostPlaced = 100'000;  // pieces times devices: placing takes that long

using Pieces = std::vector<EntryId>;

class WidthGroups {
 public:
  WidthGroups(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
              const StopCheck& stop, std::int64_t budget)
      : problem_(problem),
        evaluator_(evaluator),
        catalog_(catalog),
        stop_(stop),
        budget_(budget),
        devices_(problem.cluster.devices),
        most_pieces_(kMostPlaced / static_cast<std::size_t>(devices_)),
        plan_(problem, evaluator, catalog),
        coster_(evaluator),
        states_(static_cast<std::size_t>(devices_) * evaluator.state_size()),
        costs_(static_cast<std::size_t>(devices_)),
        bytes_(static_cast<std::size_t>(devices_)) {
    launch_ms_ = std::numeric_limits<double>::infinity();
    for (std::int32_t table = 0; table < catalog.tables(); ++table) {
      launch_ms_ = std::min(launch_ms_, evaluator.shape_cost(whole(table).shape));
    }
  }

  std::optional<FastPlan> run() {
    for (const std::int32_t columns : kFewLanes) group(columns);
    if (best_.empty()) return std::nullopt;
    FastPlan found =
        descend(problem_, evaluator_, catalog_, stop_, best_, std::max<std::int64_t>(1, left()));
    found.evaluations += evaluations_;
    return found;
  }

 private:
  [[nodiscard]] const CatalogEntry& whole(std::int32_t table) const {
    return catalog_.entry(catalog_.whole(table));
  }
  [[nodiscard]] std::int64_t left() const { return budget_ - evaluations_; }
  /// What a piece adds to a device, about.
  [[nodiscard]] double own_ms(EntryId id) const {
    return std::max(0.0, evaluator_.shape_cost(catalog_.entry(id).shape) - launch_ms_);
  }
  [[nodiscard]] double own_ms(const Pieces& pieces) const {
    double sum = 0;
    for (const EntryId id : pieces) sum += own_ms(id);
    return sum;
  }

  /// Adds `id`, halved until no piece takes more than `most_ms` or halves are no lighter: by rows
  /// or by columns, whichever takes less; as it is beyond most_pieces_.
  void halve(EntryId id, double most_ms, Pieces& pieces) const {
    const CatalogEntry& entry = catalog_.entry(id);
    const bool rows = entry.upper != kNoEntry;
    const bool columns = entry.first != kNoEntry;
    const bool may_stay = !entry.only_parts && own_ms(id) <= most_ms;
    if ((!rows && !columns) || may_stay || pieces.size() > most_pieces_) {
      pieces.push_back(id);
      return;
    }
    const bool by_rows = rows && (!columns || own_ms(entry.upper) + own_ms(entry.lower) <
                                                  own_ms(entry.first) + own_ms(entry.rest));
    const EntryId one = by_rows ? entry.upper : entry.first;
    const EntryId other = by_rows ? entry.lower : entry.rest;
    const bool lighter = std::max(own_ms(one), own_ms(other)) < kLighter * own_ms(id);
    if (!lighter && !entry.only_parts) {
      pieces.push_back(id);
      return;
    }
    halve(one, most_ms, pieces);
    halve(other, most_ms, pieces);
  }
  [[nodiscard]] Pieces halved(const Pieces& pieces, double most_ms) const {
    Pieces finer;
    for (const EntryId id : pieces) halve(id, most_ms, finer);
    return finer;
  }

  void group(std::int32_t columns);
  void attempt(const Pieces& wide, const Pieces& narrow);
  bool place(const Pieces& pieces, std::int32_t begin, std::int32_t end, Assignment& placed);
  void try_plan(const Pieces& wide, const Pieces& narrow, std::int32_t wide_devices);

  const Problem& problem_;
  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const StopCheck& stop_;
  const std::int64_t budget_;
  const std::int32_t devices_;
  const std::size_t most_pieces_;
  LocalPlan plan_;
  PlanCoster coster_;
  AlignedVector<float> states_;  // [devices, state_size]
  std::vector<float> costs_;
  std::vector<std::int64_t> bytes_;
  double launch_ms_ = 0;  // of a device with next to nothing
  std::int64_t evaluations_ = 0;
  Assignment best_;
  double best_cost_ = 0;
};

/// The wide tables that gain most by staying wide do, as many as make the mean device fastest.
void WidthGroups::group(std::int32_t columns) {
  struct Wide {
    double gain = 0;
    EntryId whole = kNoEntry;
    double wide_ms = 0;
    double narrow_ms = 0;
  };
  std::vector<Wide> tables;
  Pieces narrow;
  for (std::int32_t table = 0; table < catalog_.tables(); ++table) {
    const EntryId id = catalog_.whole(table);
    if (whole(table).dim <= columns) {
      narrow.push_back(id);
      continue;
    }
    Pieces parts;
    cut_columns(catalog_, id, columns, most_pieces_, parts);
    const double parts_ms = own_ms(parts);
    tables.push_back({parts_ms / std::max(own_ms(id), 1e-9), id, own_ms(id), parts_ms});
  }
  if (tables.empty() || stop_.stop()) return;
  std::stable_sort(tables.begin(), tables.end(),
                   [](const Wide& a, const Wide& b) { return a.gain > b.gain; });
  double wide_ms = 0;
  double narrow_ms = own_ms(narrow);
  for (const Wide& table : tables) narrow_ms += table.narrow_ms;
  std::size_t best = 0;
  double least = narrow_ms;
  for (std::size_t k = 0; k < tables.size(); ++k) {
    wide_ms += tables[k].wide_ms;
    narrow_ms -= tables[k].narrow_ms;
    if (wide_ms + narrow_ms >= least) continue;
    least = wide_ms + narrow_ms;
    best = k + 1;
  }
  Pieces wide;
  for (std::size_t k = 0; k < best; ++k) wide.push_back(tables[k].whole);
  for (std::size_t k = best; k < tables.size(); ++k) {
    cut_columns(catalog_, tables[k].whole, columns, most_pieces_, narrow);
  }
  attempt(wide, narrow);
}

void WidthGroups::attempt(const Pieces& wide, const Pieces& narrow) {
  const double wide_ms = own_ms(wide);
  const double all_ms = wide_ms + own_ms(narrow);
  const double share = all_ms > 0 ? devices_ * wide_ms / all_ms : 0;
  const std::int32_t least = wide.empty() ? 0 : 1;
  const std::int32_t most = narrow.empty() ? devices_ : devices_ - 1;
  for (const double about : {std::floor(share), std::ceil(share)}) {
    const std::int32_t own = std::clamp(static_cast<std::int32_t>(about), least, most);
    for (const double heaviest : kHeaviestPiece) {
      if (stop_.stop() || left() <= 0) return;
      const double device_ms = heaviest * all_ms / devices_;
      try_plan(halved(wide, device_ms), halved(narrow, device_ms), own);
    }
    if (std::floor(share) == std::ceil(share)) return;
  }
}

/// The heaviest first, each on the device of that range that is fastest with it.
bool WidthGroups::place(const Pieces& pieces, std::int32_t begin, std::int32_t end,
                        Assignment& placed) {
  std::vector<std::pair<double, EntryId>> order;
  for (const EntryId id : pieces) order.emplace_back(-own_ms(id), id);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const std::size_t size = evaluator_.state_size();
  const std::span<float> costs = std::span(costs_).first(static_cast<std::size_t>(end - begin));
  RareStopCheck over(&stop_);
  for (const auto& [ms, id] : order) {
    if (over.stop()) return false;
    const CatalogEntry& entry = catalog_.entry(id);
    const std::span<const float> states = std::span<const float>(states_).subspan(
        static_cast<std::size_t>(begin) * size, costs.size() * size);
    evaluator_.costs_with(entry.shape, states, costs);
    std::int32_t device = kNoDevice;
    float least = 0;
    for (std::int32_t to = begin; to < end; ++to) {
      const float cost = costs[static_cast<std::size_t>(to - begin)];
      if (bytes_[static_cast<std::size_t>(to)] > problem_.cluster.memory_bytes - entry.bytes)
        continue;
      if (device != kNoDevice && cost >= least) continue;
      device = to;
      least = cost;
    }
    if (device == kNoDevice) return false;
    const auto d = static_cast<std::size_t>(device);
    evaluator_.place(entry.shape, states_.data() + d * size);
    bytes_[d] += entry.bytes;
    placed.push_back({id, device});
  }
  return true;
}

void WidthGroups::try_plan(const Pieces& wide, const Pieces& narrow, std::int32_t wide_devices) {
  ++evaluations_;
  if (wide.size() + narrow.size() > most_pieces_) return;
  for (std::int32_t device = 0; device < devices_; ++device) {
    evaluator_.clear(states_.data() + static_cast<std::size_t>(device) * evaluator_.state_size());
  }
  std::fill(bytes_.begin(), bytes_.end(), 0);
  Assignment placed;
  if (!place(wide, 0, wide_devices, placed)) return;
  if (!place(narrow, wide_devices, devices_, placed)) return;
  plan_.assign(placed);
  const double cost = coster_.cost(plan_);
  if (!best_.empty() && cost >= best_cost_) return;
  best_ = std::move(placed);
  best_cost_ = cost;
}

bool may_be_grouped(const PlanEvaluator& evaluator, const ShapeCatalog& catalog) {
  const auto tables = static_cast<std::size_t>(catalog.tables());
  const auto devices = static_cast<std::size_t>(evaluator.devices());
  if (evaluator.additive() || !evaluator.devices_alike() || devices < 2) return false;
  if (tables == 0 || tables > kMostPlaced / devices) return false;
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    const CatalogEntry& whole = catalog.entry(catalog.whole(table));
    if (whole.only_on != nullptr || whole.equal_columns || !catalog.movable(table)) return false;
  }
  return true;
}

}  // namespace

std::optional<FastPlan> width_groups(const Problem& problem, const PlanEvaluator& evaluator,
                                     const ShapeCatalog& catalog, const StopCheck& stop,
                                     std::int64_t budget) {
  if (!may_be_grouped(evaluator, catalog)) return std::nullopt;
  return WidthGroups(problem, evaluator, catalog, stop, budget).run();
}

}  // namespace neuroshard::search
