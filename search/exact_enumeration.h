#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "search/problem.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// A whole table to be placed.
struct ExactItem {
  std::int32_t table;
  ShapeId shape;
  std::int64_t bytes;
  Exchanged exchanged;
  const DeviceSet* allowed;  ///< devices that it may be on
};

/// Whether plans cost the same, and may be, however devices are renumbered.
bool alike(const SearchSpace& space, const PlanEvaluator& evaluator);

/// The devices of the first items.
using Devices = std::vector<std::int32_t>;

/// What going through a part of all plans has found.
struct ExactFound {
  double cost = std::numeric_limits<double>::infinity();
  Devices devices;  ///< of the best plan, the first of equals; empty: no plan
  std::int64_t evaluations = 0;
  bool stopped = false;  ///< before the end
};

/// Goes through the placements of items that memory allows, one prefix of them at a time; among
/// devices that are alike, an item goes to the first empty one only. Not thread-safe: one a thread.
class Enumeration {
 public:
  Enumeration(const Problem& problem, const PlanEvaluator& evaluator,
              const std::vector<ExactItem>& items, const StopCheck& stop);

  /// The best completion of `prefix`.
  ExactFound run(const Devices& prefix);

  /// All prefixes of `length` items that memory allows.
  void list_prefixes(std::size_t length, std::vector<Devices>& prefixes);

 private:
  bool place(std::size_t item, std::int32_t device);
  void take_away(std::size_t item);
  void clear();
  void visit(std::size_t item);
  void list(std::size_t item, std::size_t length, std::vector<Devices>& prefixes);
  void add_plan();
  void flush();
  /// Devices that the next item may go to: among alike ones, only the first empty one.
  [[nodiscard]] std::int32_t choices() const {
    return alike_ ? std::min(used_ + 1, devices_) : devices_;
  }

  const PlanEvaluator& evaluator_;
  const std::vector<ExactItem>& items_;
  const StopCheck& stop_;
  const std::int32_t devices_;
  const std::int64_t memory_;
  const bool alike_;
  const std::size_t state_size_;

  // The partial plan, and what each device was before an item came to it.
  Devices device_of_;
  AlignedVector<float> states_;
  AlignedVector<float> saved_states_;  // [items, state_size]
  std::vector<float> compute_;
  std::vector<float> saved_compute_;
  std::vector<int> saved_used_;
  std::vector<std::int64_t> bytes_;
  std::vector<std::int64_t> dims_;
  std::vector<DeviceWork> work_;
  Collectives collectives_;
  std::int32_t used_ = 0;

  // Complete plans waiting for their cost.
  std::vector<Devices> plans_;
  std::vector<float> plan_compute_;
  std::vector<std::int64_t> plan_dims_;
  std::vector<DeviceWork> plan_work_;
  std::vector<Collectives> plan_collectives_;
  std::vector<double> costs_;
  Scratch scratch_;

  ExactFound found_;
};

}  // namespace neuroshard::search
