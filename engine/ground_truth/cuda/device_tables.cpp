#include "engine/ground_truth/cuda/device_tables.h"

#include <string>
#include <utility>

namespace neuroshard {
namespace {

/// Weights of a table begin on a multiple of this, as an allocation of their own would.
constexpr std::int64_t kAlignment = 256;
/// Lookups of one measurement: the sort needs about 20 bytes for each.
constexpr double kMaxLookups = 2e9;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Status check_lookups(const Workload& workload, std::span<const Shard> shards) {
  double lookups = 0;
  for (const Shard& shard : shards) {
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    lookups += table.pooling_factor * static_cast<double>(workload.batch_size);
    if (table.data_type == DataType::kFp32 || table.data_type == DataType::kFp16) continue;
    return unavailable("backend cuda: table '" + table.name + "' is " +
                       std::string(to_string(table.data_type)) +
                       ", its kernels are fp32 and fp16 only");
  }
  if (lookups <= kMaxLookups) return {};
  return invalid_input("a batch of " + std::to_string(workload.batch_size) +
                       " samples is too large to be measured on this backend");
}

}  // namespace

Result<std::byte*> DeviceArena::take(std::int64_t bytes) {
  const auto wanted = static_cast<std::size_t>(bytes);
  if (wanted <= memory_.capacity()) return memory_.data();
  // Room to grow where there is some; the largest plans take what there is.
  if (!memory_.reserve(wanted + wanted / 4).ok()) {
    NEUROSHARD_RETURN_IF_ERROR(memory_.reserve(wanted));
  }
  const std::size_t all = memory_.capacity();
  const auto elements = all / static_cast<std::size_t>(bytes_per_element(type_));
  NEUROSHARD_RETURN_IF_ERROR(zero_ ? memory_.zero(all)
                                   : cuda::fill_small_values(memory_.data(), elements, type_));
  return memory_.data();
}

Result<std::vector<cuda::BagTable>> DeviceTables::place(const Workload& workload,
                                                        std::span<const Shard> shards) {
  NEUROSHARD_RETURN_IF_ERROR(check_lookups(workload, shards));
  streams_.trim();
  NEUROSHARD_RETURN_IF_ERROR(streams_.prepare(workload, shards));
  std::array<std::int64_t, 2> weight_bytes{};
  std::int64_t state_bytes = 0;
  std::vector<cuda::BagTable> tables;
  tables.reserve(shards.size());
  // Places first, pointers when the arenas have their size.
  for (const Shard& shard : shards) {
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    NEUROSHARD_ASSIGN_OR_RETURN(const cuda::DeviceStream* const stream,
                                streams_.find(table, shard, workload.batch_size));
    cuda::BagTable bag;
    bag.rows = shard.rows();
    bag.dim = shard.dim();
    bag.data_type = table.data_type;
    bag.optimizer = table.optimizer;
    bag.indices = stream->indices.data();
    bag.offsets = stream->offsets.data();
    bag.lookups = stream->lookups;
    tables.push_back(bag);
    weight_bytes[static_cast<std::size_t>(table.data_type)] +=
        aligned(shard.rows() * shard.dim() * bytes_per_element(table.data_type));
    if (table.optimizer == Optimizer::kRowwiseAdagrad) state_bytes += aligned(shard.rows() * 4);
  }
  std::array<std::byte*, 2> next_weights{};
  for (std::size_t type = 0; type < next_weights.size(); ++type) {
    NEUROSHARD_ASSIGN_OR_RETURN(next_weights[type], weights_[type].take(weight_bytes[type]));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(std::byte * next_state, states_.take(state_bytes));
  for (cuda::BagTable& bag : tables) {
    std::byte*& next = next_weights[static_cast<std::size_t>(bag.data_type)];
    bag.weights = next;
    next += aligned(bag.rows * bag.dim * bytes_per_element(bag.data_type));
    if (bag.optimizer != Optimizer::kRowwiseAdagrad) continue;
    bag.state = reinterpret_cast<float*>(next_state);
    next_state += aligned(bag.rows * 4);
  }
  return tables;
}

}  // namespace neuroshard
