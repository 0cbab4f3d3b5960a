#include "search/grid_placer.h"

#include <algorithm>
#include <limits>

namespace neuroshard::search {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

double mean_dims(const ShardSet& shards, std::int32_t devices) {
  std::int64_t dims = 0;
  for (const PlacementItem& item : shards.by_cost()) dims += item.dims;
  return static_cast<double>(dims) / devices;
}

GridPlacer::GridPlacer(const PlanEvaluator& evaluator, const Cluster& cluster,
                       const GridOptions& options)
    : evaluator_(evaluator),
      cluster_(cluster),
      options_(options),
      state_size_(evaluator.state_size()) {
  const auto devices = static_cast<std::size_t>(cluster.devices);
  const auto rules = static_cast<std::size_t>(options.caps) + 2;
  states_.resize(devices * state_size_);
  compute_.resize(devices);
  row_rules_.reserve(rules);
  row_compute_.reserve(rules * devices);
  row_dims_.reserve(rules * devices);
  row_costs_.reserve(rules);
}

/// Rules in order: the caps, then no cap by cost, then by memory alone.
GridPlacer::Rule GridPlacer::rule_at(int rule, double mean) const {
  if (rule >= options_.caps) return {kInfinity, rule > options_.caps, cluster_.memory_bytes};
  const int steps = std::max(1, options_.caps - 1);
  const double step = (options_.last_cap - options_.first_cap) / steps;
  return {(options_.first_cap + step * rule) * mean, false, cluster_.memory_bytes};
}

std::optional<Placement> GridPlacer::evaluate(const ShardSet& shards, const StopCheck* stop) {
  if (!try_rules(shards, stop, false)) return std::nullopt;
  return cheapest_row();
}

Placement GridPlacer::evaluate_some(const ShardSet& shards, const StopCheck& stop) {
  const bool done = try_rules(shards, &stop, true);
  Placement best = cheapest_row();
  best.cut_short = !done;
  return best;
}

/// Fills in a row for each rule with a plan; false when `stop` ended that.
bool GridPlacer::try_rules(const ShardSet& shards, const StopCheck* stop, bool patient) {
  row_rules_.clear();
  row_compute_.clear();
  row_dims_.clear();
  const double mean = mean_dims(shards, cluster_.devices);
  if (!try_caps(shards, mean, stop, patient)) return false;
  for (int rule = options_.caps;
       options_.last_resort && row_rules_.empty() && rule < options_.caps + 2; ++rule) {
    if (place(shards, rule_at(rule, mean), nullptr)) keep_row(rule);
  }
  return true;
}

/// Caps rise, and a cap that changes no decision of the last pass gives the same plan again, which
/// cannot be strictly better: only the caps that change something are tried.
bool GridPlacer::try_caps(const ShardSet& shards, double mean, const StopCheck* stop,
                          bool patient) {
  RareStopCheck over(patient ? nullptr : stop);
  next_cap_ = 0;
  for (int rule = 0; rule < options_.caps; ++rule) {
    const Rule cap = rule_at(rule, mean);
    if (cap.cap < next_cap_) continue;
    if (over.stop_now()) return false;
    if (place(shards, cap, nullptr, over)) {
      keep_row(rule);
      over = RareStopCheck(stop);
    }
    if (over.stopped()) return false;
  }
  return true;
}

void GridPlacer::keep_row(int rule) {
  row_rules_.push_back(rule);
  row_compute_.insert(row_compute_.end(), compute_.begin(), compute_.end());
  const std::size_t begin = row_dims_.size();
  row_dims_.resize(begin + devices_.size());
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
    row_dims_[begin + static_cast<std::size_t>(devices_[rank].device)] = devices_[rank].dims;
  }
}

/// Of the rows: infeasible without one.
Placement GridPlacer::cheapest_row() {
  Placement best;
  best.cost = kInfinity;
  if (row_rules_.empty()) return best;
  row_costs_.resize(row_rules_.size());
  const PlanBatch batch{static_cast<int>(row_rules_.size()), row_compute_, row_dims_};
  evaluator_.plan_costs(batch, row_costs_, scratch_);
  best.evaluations = batch.plans;
  for (std::size_t row = 0; row < row_rules_.size(); ++row) {
    if (best.feasible && row_costs_[row] >= best.cost) continue;
    best.feasible = true;
    best.cost = row_costs_[row];
    best.rule = row_rules_[row];
  }
  return best;
}

std::vector<std::int32_t> GridPlacer::assign(const ShardSet& shards, int rule) {
  std::vector<std::int32_t> device_of(shards.size());
  place(shards, rule_at(rule, mean_dims(shards, cluster_.devices)), device_of.data());
  return device_of;
}

std::int64_t GridPlacer::memory_that_fits(const ShardSet& shards) {
  place(shards, {kInfinity, true, std::numeric_limits<std::int64_t>::max()}, nullptr);
  return devices_[devices_.size() - 1].bytes;
}

bool GridPlacer::place(const ShardSet& shards, const Rule& rule, std::int32_t* device_of) {
  RareStopCheck never;
  return place(shards, rule, device_of, never);
}

bool GridPlacer::place(const ShardSet& shards, const Rule& rule, std::int32_t* device_of,
                       RareStopCheck& over) {
  if (!rule.by_memory) return place(shards.by_cost(), rule, device_of, over);
  sorted_.assign(shards.by_cost().begin(), shards.by_cost().end());
  std::stable_sort(
      sorted_.begin(), sorted_.end(),
      [](const PlacementItem& a, const PlacementItem& b) { return a.bytes > b.bytes; });
  return place(sorted_, rule, device_of, over);
}

std::size_t GridPlacer::first_fit(const PlacementItem& item, const Rule& rule) {
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
    const DeviceLoad& device = devices_[rank];
    if (device.bytes > rule.memory - item.bytes) continue;
    if (!may_be_on(item.only_on, device.device)) continue;
    const auto dims = static_cast<double>(device.dims + item.dims);
    if (dims <= rule.cap) return rank;
    next_cap_ = std::min(next_cap_, dims);
  }
  return devices_.size();
}

bool GridPlacer::place(std::span<const PlacementItem> order, const Rule& rule,
                       std::int32_t* device_of, RareStopCheck& over) {
  devices_.reset(cluster_.devices);
  for (std::size_t device = 0; device < devices_.size(); ++device) {
    evaluator_.clear(states_.data() + device * state_size_);
  }
  std::fill(compute_.begin(), compute_.end(), evaluator_.empty_cost());
  next_cap_ = kInfinity;
  for (const PlacementItem& item : order) {
    if (over.stop()) return false;
    const std::size_t rank = first_fit(item, rule);
    if (rank == devices_.size()) return false;
    const auto device = static_cast<std::size_t>(devices_[rank].device);
    const float cost = evaluator_.place(item.shape, states_.data() + device * state_size_);
    compute_[device] = cost;
    if (device_of != nullptr) device_of[item.index] = static_cast<std::int32_t>(device);
    const double load =
        rule.by_memory ? static_cast<double>(devices_[rank].bytes + item.bytes) : cost;
    devices_.add(rank, load, item.bytes, item.dims);
  }
  return true;
}

}  // namespace neuroshard::search
