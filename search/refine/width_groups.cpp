#include "search/refine/width_groups.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "search/local/column_cuts.h"
#include "search/local/local_plan.h"
#include "search/local/plan_coster.h"
#include "search/refine/width_splits.h"

namespace neuroshard::search {
namespace {

constexpr std::array kFewLanes{kColumnsOfEightLanes, kColumnsOfSixteenLanes};
/// Of what a device should have: pieces heavier than that are halved.
constexpr std::array<double, 3> kHeaviestPiece{1, 0.5, 0.25};
constexpr double kLighter = 0.9;  // times a piece, a half of it that is worth having
/// Tables times devices, times the numbers of devices with wide pieces that are tried. (60
/// generated tables on 2 devices, h200_sim: 5.76 ms after 3,000 candidates instead of 6.33. All of
/// them, with the second best as another start, beside the one that is fastest in the mean:
/// networks_16 of golden_costs_bench is 3.8 % cheaper, networks_4 1.2, the others by networks
/// within 0.5.)
constexpr std::size_t kMostTried = 300'000;

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
        most_pieces_(kMostPlacedByWidth / static_cast<std::size_t>(devices_)),
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

  std::vector<FastPlan> run() {
    for (const std::int32_t columns : kFewLanes) group(columns);
    std::stable_sort(grouped_.begin(), grouped_.end(),
                     [](const Grouped& a, const Grouped& b) { return a.cost < b.cost; });
    if (grouped_.size() > kMostWidthGroups) grouped_.resize(kMostWidthGroups);
    std::vector<FastPlan> found;
    const auto each = left() / std::max<std::int64_t>(1, std::ssize(grouped_));
    for (const Grouped& plan : grouped_) {
      found.push_back(descend(problem_, evaluator_, catalog_, stop_, plan.pieces,
                              std::max<std::int64_t>(1, each)));
    }
    if (!found.empty()) found.front().evaluations += evaluations_;
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

  /// The cheapest plan with such pieces and so many devices for wide ones.
  struct Grouped {
    std::int32_t columns = 0;
    std::int32_t wide_devices = 0;
    double cost = 0;
    Assignment pieces;
  };
  void group(std::int32_t columns);
  void attempt(std::int32_t columns, const WidthSplit& split, std::span<const WideTable> tables,
               Pieces narrow);
  [[nodiscard]] std::int32_t fastest(const CatalogEntry& entry, std::int32_t begin,
                                     std::int32_t end);
  bool place(const Pieces& pieces, std::int32_t begin, std::int32_t end, Assignment& placed);
  void try_plan(const Pieces& wide, const Pieces& narrow, Grouped& grouped);

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
  std::vector<Grouped> grouped_;
};

/// The tables that gain most by staying wide do so first.
void WidthGroups::group(std::int32_t columns) {
  std::vector<WideTable> tables;
  Pieces narrow;
  for (std::int32_t table = 0; table < catalog_.tables(); ++table) {
    const EntryId id = catalog_.whole(table);
    if (whole(table).dim <= columns) {
      narrow.push_back(id);
      continue;
    }
    WideTable own{id, {}, own_ms(id), 0};
    cut_columns(catalog_, id, columns, most_pieces_, own.narrow);
    own.narrow_ms = own_ms(own.narrow);
    tables.push_back(std::move(own));
  }
  if (tables.empty()) return;
  const auto gain = [](const WideTable& table) {
    return table.narrow_ms / std::max(table.wide_ms, 1e-9);
  };
  std::stable_sort(tables.begin(), tables.end(),
                   [&](const WideTable& a, const WideTable& b) { return gain(a) > gain(b); });
  const std::size_t placed =
      static_cast<std::size_t>(catalog_.tables()) * static_cast<std::size_t>(devices_);
  for (const WidthSplit& split :
       width_splits(tables, own_ms(narrow), devices_, kMostTried / placed)) {
    if (stop_.stop() || left() <= 0) return;
    attempt(columns, split, tables, narrow);
  }
}

/// With pieces of several sizes, of which the cheapest plan counts.
void WidthGroups::attempt(std::int32_t columns, const WidthSplit& split,
                          std::span<const WideTable> tables, Pieces narrow) {
  Pieces wide;
  for (const WideTable& table : tables.first(split.wide)) wide.push_back(table.whole);
  for (const WideTable& table : tables.subspan(split.wide)) {
    narrow.insert(narrow.end(), table.narrow.begin(), table.narrow.end());
  }
  const double all_ms = own_ms(wide) + own_ms(narrow);
  Grouped grouped{columns, split.devices, std::numeric_limits<double>::infinity(), {}};
  for (const double heaviest : kHeaviestPiece) {
    if (stop_.stop() || left() <= 0) break;
    const double device_ms = heaviest * all_ms / devices_;
    try_plan(halved(wide, device_ms), halved(narrow, device_ms), grouped);
  }
  if (grouped.pieces.empty()) return;
  const auto same = std::find_if(grouped_.begin(), grouped_.end(), [&](const Grouped& other) {
    return other.columns == columns && other.wide_devices == split.devices;
  });
  if (same == grouped_.end()) {
    grouped_.push_back(std::move(grouped));
  } else if (grouped.cost < same->cost) {
    *same = std::move(grouped);
  }
}

/// The device of that range that is fastest with the piece; kNoDevice where it goes on none.
std::int32_t WidthGroups::fastest(const CatalogEntry& entry, std::int32_t begin, std::int32_t end) {
  const std::size_t size = evaluator_.state_size();
  const std::span<float> costs = std::span(costs_).first(static_cast<std::size_t>(end - begin));
  const std::span<const float> states = std::span<const float>(states_).subspan(
      static_cast<std::size_t>(begin) * size, costs.size() * size);
  evaluator_.costs_with(entry.shape, states, costs);
  std::int32_t device = kNoDevice;
  float least = 0;
  for (std::int32_t to = begin; to < end; ++to) {
    const float cost = costs[static_cast<std::size_t>(to - begin)];
    if (!entry.goes_on(to)) continue;
    if (bytes_[static_cast<std::size_t>(to)] > problem_.cluster.memory_bytes - entry.bytes)
      continue;
    if (device != kNoDevice && cost >= least) continue;
    device = to;
    least = cost;
  }
  return device;
}

/// The heaviest first, each on the device of that range that is fastest with it; a piece that may
/// be on none of them on any other.
bool WidthGroups::place(const Pieces& pieces, std::int32_t begin, std::int32_t end,
                        Assignment& placed) {
  std::vector<std::pair<double, EntryId>> order;
  for (const EntryId id : pieces) order.emplace_back(-own_ms(id), id);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  RareStopCheck over(&stop_);
  for (const auto& [ms, id] : order) {
    if (over.stop()) return false;
    const CatalogEntry& entry = catalog_.entry(id);
    std::int32_t device = fastest(entry, begin, end);
    if (device == kNoDevice && entry.only_on != nullptr) device = fastest(entry, 0, devices_);
    if (device == kNoDevice) return false;
    const auto d = static_cast<std::size_t>(device);
    evaluator_.place(entry.shape, states_.data() + d * evaluator_.state_size());
    bytes_[d] += entry.bytes;
    placed.push_back({id, device});
  }
  return true;
}

void WidthGroups::try_plan(const Pieces& wide, const Pieces& narrow, Grouped& grouped) {
  ++evaluations_;
  if (wide.size() + narrow.size() > most_pieces_) return;
  for (std::int32_t device = 0; device < devices_; ++device) {
    evaluator_.clear(states_.data() + static_cast<std::size_t>(device) * evaluator_.state_size());
  }
  std::fill(bytes_.begin(), bytes_.end(), 0);
  Assignment placed;
  if (!place(wide, 0, grouped.wide_devices, placed)) return;
  if (!place(narrow, grouped.wide_devices, devices_, placed)) return;
  plan_.assign(placed);
  const double cost = coster_.cost(plan_);
  if (cost >= grouped.cost) return;
  grouped.cost = cost;
  grouped.pieces = std::move(placed);
}

bool may_be_grouped(const PlanEvaluator& evaluator, const ShapeCatalog& catalog) {
  const auto tables = static_cast<std::size_t>(catalog.tables());
  const auto devices = static_cast<std::size_t>(evaluator.devices());
  if (evaluator.additive() || !evaluator.devices_alike() || devices < 2) return false;
  if (tables == 0 || tables > kMostPlacedByWidth / devices) return false;
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    if (catalog.entry(catalog.whole(table)).apart || !catalog.movable(table)) return false;
  }
  return true;
}

}  // namespace

std::vector<FastPlan> width_groups(const Problem& problem, const PlanEvaluator& evaluator,
                                   const ShapeCatalog& catalog, const StopCheck& stop,
                                   std::int64_t budget) {
  if (!may_be_grouped(evaluator, catalog)) return {};
  return WidthGroups(problem, evaluator, catalog, stop, budget).run();
}

}  // namespace neuroshard::search
