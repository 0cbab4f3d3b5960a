#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/core/plan.h"

namespace neuroshard::signature {

/// What says what plans cost.
enum class Costs {
  kFixedNetworks,   ///< random networks, one pair of communication networks a number of devices
  kPooledNetworks,  ///< random networks for any number of devices, hosts of kUsualHost
  kFormula,         ///< TorchRec's, hosts of kUsualHost devices
};

/// From `least` to `most`, both included.
struct Percent {
  std::int32_t least = 0;
  std::int32_t most = 0;
};

/// Some generated tasks and how they are searched. Where it lists several values, tasks take them
/// in turn.
struct Setting {
  std::string_view name;
  Costs costs = Costs::kFormula;
  std::span<const std::int32_t> devices;
  std::size_t tasks = 0;
  std::int32_t tables_per_device = 10;  ///< at most, and ten more
  std::int64_t evaluations = 0;         ///< where an algorithm has no end of its own
  std::span<const RowSplits> row_splits;
  bool all_algorithms = false;  ///< same on every machine; else the default
  bool data_parallel = false;
  bool equal_columns = false;
  bool sequences = false;    ///< two thirds of the tables are not pooled
  Percent memory{100, 200};  ///< a device's, of its even share of all tables' bytes
  Percent host_memory{};     ///< all hosts' together, of all tables' bytes
  /// Of all tables' bytes, by which a plan may change after the lookups have: the tasks are
  /// replan's then. 0: they are not.
  Percent moved{};
};

/// Every search, under every kind of cost that it knows: what `neuroshard bench` has to notice when
/// it changes. Each has plans for most of its tasks.
std::span<const Setting> settings();

}  // namespace neuroshard::signature
