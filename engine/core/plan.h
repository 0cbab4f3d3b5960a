#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/shard.h"
#include "engine/core/status.h"
#include "engine/core/table.h"

namespace neuroshard {

/// Shards that cover every table exactly once.
struct Plan {
  std::int32_t devices = 0;
  std::vector<Shard> shards;

  friend bool operator==(const Plan&, const Plan&) = default;
};

/// Row shards that a search may make.
enum class RowSplits {
  kOff,  ///< none
  /// A table over all devices in blocks of ceil(rows / devices), TorchRec's row_wise; or columns of
  /// it over the devices of one host so, its table_row_wise and grid_shard.
  kEven,
  kAny,  ///< also halves of its rows, quarters, .., on any devices
};

/// The words of the command and the messages: "off", "even", "any".
std::string_view to_string(RowSplits row_splits);

/// Of each shard of the plan: device_group of parts of rows, row_blocks and in_order where the rows
/// of its columns are in even blocks.
std::vector<ShardShape> shapes_of(const Plan& plan);

/// Columns of all shards on each device, replicas' too.
std::vector<std::int64_t> columns_of_devices(const Plan& plan);

/// Tables of which the plan has no shards, in order.
std::vector<std::int32_t> missing_tables(const Workload& workload, const Plan& plan);
/// The plan with those whole on its first device: what is valid where nothing else is wrong.
Plan with_missing_tables(const Workload& workload, Plan plan);

/// kInvalidInput, naming the first table that every device holds, with `why` that is refused.
Status check_no_replicas(const Plan& plan, std::string_view why);

/// Sorts shards by table, then row_begin, then column_begin: the order of plan files.
void canonicalize(Plan& plan);

/// Costs of one device, milliseconds.
struct DeviceCost {
  double compute_ms = 0;
  double forward_comm_ms = 0;
  double backward_comm_ms = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t dim_sum = 0;
  std::int64_t host_bytes = 0;  ///< of its shards in the host's memory
  /// Where costs are of whole training steps: what the dense part, and what waits for it, takes
  /// that nothing of the others hides.
  double dense_ms = 0;

  [[nodiscard]] double total_ms() const {
    return compute_ms + forward_comm_ms + backward_comm_ms + dense_ms;
  }
};

/// What a plan costs: `cost_ms` is the largest total of a device.
struct PlanCost {
  double cost_ms = 0;
  std::vector<DeviceCost> per_device;
};

/// Whether these are costs of whole training steps: then some device has a dense part.
bool are_of_steps(std::span<const DeviceCost> costs);

/// The device whose total is the largest, the first of equals. REQUIRES costs of a device.
std::int32_t bottleneck_of(const PlanCost& cost);
/// All devices, the one with the smallest total first.
std::vector<std::int32_t> idle_first(const PlanCost& cost);

}  // namespace neuroshard
