#include "search/bounds/device_knapsack.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace neuroshard::search {
namespace {

constexpr std::int32_t kEmpty = -2;  // the item of a slot without a state
constexpr double kKnapsackRounding = 1e-12;

/// From one item of a class to the next one that is worth more for its weight than those between.
struct Increment {
  double weight;
  double value;
  int of_class;
  int to;

  [[nodiscard]] double rate() const { return value / weight; }
};

/// A choice among the classes so far.
struct State {
  double weight = 0;
  double value = 0;
  std::int32_t parent = 0;  ///< in the layer before
  std::int32_t item = -1;
};

constexpr State kEmptySlot{std::numeric_limits<double>::infinity(), -1, 0, kEmpty};

class Knapsack {
 public:
  Knapsack(const std::vector<KnapsackClass>& classes, double capacity,
           const KnapsackOptions& options)
      : classes_(classes), capacity_(capacity), options_(options) {}

  KnapsackFound solve() {
    found_.chosen.assign(classes_.size(), -1);
    relax();
    price();
    if (options_.slots == 0) {
      found_.most = bound_ * (1 + kKnapsackRounding);
    } else if (!go_through()) {
      optimistic_ = false;  // what is found so is a choice, if not always the best
      go_through();
    }
    return std::move(found_);
  }

 private:
  /// The concave hull of one class's items, from nothing on.
  void add_increments(int index) {
    const KnapsackClass& items = classes_[static_cast<std::size_t>(index)];
    order_.resize(items.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](int a, int b) {
      const KnapsackItem& left = items[static_cast<std::size_t>(a)];
      const KnapsackItem& right = items[static_cast<std::size_t>(b)];
      if (left.weight != right.weight) return left.weight < right.weight;
      return left.value != right.value ? left.value > right.value : a < b;
    });
    const std::size_t first = increments_.size();
    double weight = 0;
    double value = 0;
    for (const int at : order_) {
      const KnapsackItem& item = items[static_cast<std::size_t>(at)];
      if (item.weight > capacity_ || item.value <= value) continue;
      Increment next{item.weight - weight, item.value - value, index, at};
      while (increments_.size() > first && increments_.back().rate() <= next.rate()) {
        next.weight += increments_.back().weight;
        next.value += increments_.back().value;
        increments_.pop_back();
      }
      increments_.push_back(next);
      weight = item.weight;
      value = item.value;
    }
  }

  /// The relaxation: its price of weight, and a choice by it.
  void relax() {
    for (std::size_t k = 0; k < classes_.size(); ++k) add_increments(static_cast<int>(k));
    std::stable_sort(increments_.begin(), increments_.end(),
                     [](const Increment& a, const Increment& b) { return a.rate() > b.rate(); });
    double weight = 0;
    double value = 0;
    price_ = options_.filler;
    bool full = false;
    for (const Increment& next : increments_) {
      if (next.rate() <= options_.filler) break;
      const KnapsackClass& own = classes_[static_cast<std::size_t>(next.of_class)];
      int& chosen = found_.chosen[static_cast<std::size_t>(next.of_class)];
      const KnapsackItem now = chosen < 0 ? KnapsackItem{} : own[static_cast<std::size_t>(chosen)];
      const KnapsackItem& then = own[static_cast<std::size_t>(next.to)];
      if (weight - now.weight + then.weight > capacity_) {
        if (!full) price_ = next.rate();
        full = true;
        continue;
      }
      weight += then.weight - now.weight;
      value += then.value - now.value;
      chosen = next.to;
    }
    found_.value = value + options_.filler * (capacity_ - weight);
    limit_ = std::max(found_.value * (1 + options_.tolerance), options_.enough);
  }

  /// What each class is worth at most at that price, and its items less than that.
  void price() {
    const std::size_t count = classes_.size();
    best_.assign(count, 0);
    for (std::size_t k = 0; k < count; ++k) {
      for (const KnapsackItem& item : classes_[k]) {
        if (item.weight > capacity_) continue;
        best_[k] = std::max(best_[k], item.value - price_ * item.weight);
      }
    }
    bound_ = std::accumulate(best_.begin(), best_.end(), price_ * capacity_);
    found_.steps = count;
    if (options_.slots == 0) return;
    const double slack = bound_ - limit_;
    kept_.resize(count);
    order_.resize(count);
    std::iota(order_.begin(), order_.end(), 0);
    std::vector<double> second(count, std::numeric_limits<double>::infinity());
    for (std::size_t k = 0; k < count; ++k) {
      kept_[k].clear();
      const auto consider = [&](double weight, double value, int item) {
        const double gap = best_[k] - (value - price_ * weight);
        if (gap > slack) return;
        kept_[k].push_back({weight, value, 0, item});
        if (gap > 0) second[k] = std::min(second[k], gap);
      };
      consider(0, 0, -1);
      for (std::size_t item = 0; item < classes_[k].size(); ++item) {
        const KnapsackItem& own = classes_[k][item];
        if (own.weight <= capacity_) consider(own.weight, own.value, static_cast<int>(item));
      }
    }
    // Those first that leave the least choice: the states stay few for longest.
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) {
      return second[static_cast<std::size_t>(a)] > second[static_cast<std::size_t>(b)];
    });
  }

  /// States of about the same weight are taken together: as valuable as the most valuable of them
  /// and, to be optimistic, as light as the lightest.
  void put(const State& next) {
    const auto at = static_cast<std::size_t>(next.weight * slots_per_weight_);
    State& slot = slots_[std::min(at, slots_.size() - 1)];
    const double lightest = std::min(slot.weight, next.weight);
    if (next.value > slot.value) slot = next;
    if (optimistic_) slot.weight = lightest;
  }

  /// Empties the slots, but for states that a lighter one is as valuable as.
  std::vector<State> take_layer() {
    std::vector<State> layer;
    for (State& slot : slots_) {
      if (slot.item != kEmpty && (layer.empty() || slot.value > layer.back().value)) {
        layer.push_back(slot);
      }
      slot = kEmptySlot;
    }
    return layer;
  }

  /// False where the choice is heavier than the states that stand for it.
  bool go_through() {
    slots_.assign(options_.slots, kEmptySlot);
    slots_per_weight_ = static_cast<double>(options_.slots - 1) / capacity_;
    std::vector<std::vector<State>> layers(1, {State{}});
    double rest = bound_ - price_ * capacity_;  // of the classes to come
    for (const int index : order_) {
      const auto k = static_cast<std::size_t>(index);
      rest -= best_[k];
      const std::vector<State>& before = layers.back();
      for (std::size_t s = 0; s < before.size(); ++s) {
        for (const State& item : kept_[k]) {
          const State next{before[s].weight + item.weight, before[s].value + item.value,
                           static_cast<std::int32_t>(s), item.item};
          if (next.weight > capacity_ * (1 + kKnapsackRounding)) continue;
          if (next.value + rest + price_ * (capacity_ - next.weight) <= limit_) continue;
          put(next);
        }
      }
      found_.steps += before.size() * kept_[k].size() + 1;
      layers.push_back(take_layer());
    }
    double most = -1;
    std::int32_t last = -1;
    for (std::size_t s = 0; s < layers.back().size(); ++s) {
      const State& state = layers.back()[s];
      const double value = state.value + options_.filler * (capacity_ - state.weight);
      if (value <= most) continue;
      most = value;
      last = static_cast<std::int32_t>(s);
    }
    if (optimistic_) found_.most = std::max(limit_, most * (1 + kKnapsackRounding));
    return last < 0 || keep_if_better(trace(layers, last));
  }

  [[nodiscard]] std::vector<int> trace(const std::vector<std::vector<State>>& layers,
                                       std::int32_t state) const {
    std::vector<int> chosen(classes_.size(), -1);
    for (std::size_t layer = layers.size() - 1; layer > 0; --layer) {
      const State& own = layers[layer][static_cast<std::size_t>(state)];
      chosen[static_cast<std::size_t>(order_[layer - 1])] = own.item;
      state = own.parent;
    }
    return chosen;
  }

  /// False where it is too heavy.
  bool keep_if_better(std::vector<int> chosen) {
    double weight = 0;
    double value = 0;
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      if (chosen[k] < 0) continue;
      weight += classes_[k][static_cast<std::size_t>(chosen[k])].weight;
      value += classes_[k][static_cast<std::size_t>(chosen[k])].value;
    }
    if (weight > capacity_ * (1 + kKnapsackRounding)) return false;
    value += options_.filler * (capacity_ - weight);
    if (value <= found_.value) return true;
    found_.value = value;
    found_.chosen = std::move(chosen);
    return true;
  }

  const std::vector<KnapsackClass>& classes_;
  const double capacity_;
  const KnapsackOptions options_;
  KnapsackFound found_;
  std::vector<Increment> increments_;
  double price_ = 0;  // of weight
  double limit_ = 0;  // what is worth no more is not looked at
  double bound_ = 0;
  std::vector<double> best_;              // [classes]
  std::vector<std::vector<State>> kept_;  // [classes] items that may be part of a better choice
  std::vector<int> order_;
  std::vector<State> slots_;
  double slots_per_weight_ = 0;
  bool optimistic_ = true;
};

}  // namespace

KnapsackFound solve_knapsack(const std::vector<KnapsackClass>& classes, double capacity,
                             const KnapsackOptions& options) {
  return Knapsack(classes, capacity, options).solve();
}

}  // namespace neuroshard::search
