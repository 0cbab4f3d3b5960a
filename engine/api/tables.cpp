#include "engine/api/tables.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/api/boundary.h"
#include "engine/core/cluster.h"
#include "io/tables/tables.h"
#include "io/text.h"

namespace neuroshard::api {
namespace {

/// The word a text holds, or what an empty one means.
template <typename Word>
Status read_word(neuroshard_text text, const char* name, Result<Word> (*parse)(std::string_view),
                 Word& word) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view given, view_of(text, name));
  if (given.empty()) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(word, parse(given));
  return {};
}

constexpr std::array<std::pair<std::uint32_t, ShardingKind>, 4> kShardingBits{
    {{NEUROSHARD_SHARDING_WHOLE, ShardingKind::kWhole},
     {NEUROSHARD_SHARDING_COLUMNS, ShardingKind::kColumns},
     {NEUROSHARD_SHARDING_ROWS, ShardingKind::kRows},
     {NEUROSHARD_SHARDING_DATA_PARALLEL, ShardingKind::kDataParallel}}};

Status read_sharding(const neuroshard_table& given, AllowedSharding& sharding) {
  std::uint32_t all = 0;
  for (const auto& [bit, kind] : kShardingBits) {
    sharding.set(kind, (given.forbidden_sharding & bit) == 0);
    all |= bit;
  }
  if (given.forbidden_sharding >= all) {
    return invalid_input(
        "table.forbidden_sharding: found " + std::to_string(given.forbidden_sharding) +
        ", expected a sum of NEUROSHARD_SHARDING_.., not of all: 0 to " + std::to_string(all - 1));
  }
  if (given.min_columns != 0) sharding.min_columns = given.min_columns;
  return {};
}

Status read_kernels(const neuroshard_table& given, AllowedKernels& kernels) {
  std::uint32_t all = 0;
  for (const ComputeKernel kernel : all_compute_kernels()) {
    const auto bit = static_cast<std::uint32_t>(kernel_bit(kernel));
    kernels.set(kernel, (given.forbidden_kernels & bit) == 0);
    all |= bit;
  }
  if (given.forbidden_kernels >= all) {
    return invalid_input(
        "table.forbidden_kernels: found " + std::to_string(given.forbidden_kernels) +
        ", expected a sum of NEUROSHARD_KERNEL_.., not of all: 0 to " + std::to_string(all - 1));
  }
  kernels.load_factor = given.cache_load_factor;
  return {};
}

Status read_devices(const neuroshard_table& given, Table& table) {
  if (given.devices == nullptr) {
    return given.device_count == 0 ? Status() : require(nullptr, "table.devices");
  }
  if (given.device_count > kMaxDevices) {
    return invalid_input("table.device_count: found " + std::to_string(given.device_count) +
                         ", expected at most " + std::to_string(kMaxDevices));
  }
  std::vector<std::int32_t> devices(given.devices, given.devices + given.device_count);
  for (const std::int32_t device : devices) {
    if (device >= 0 && device < kMaxDevices) continue;
    return invalid_input("table.devices: found " + std::to_string(device) + ", expected 0 to " +
                         std::to_string(kMaxDevices - 1));
  }
  table.devices = DeviceSet(std::move(devices));
  return {};
}

std::uint32_t forbidden_kernels(const AllowedKernels& kernels) {
  std::uint32_t forbidden = 0;
  for (const ComputeKernel kernel : all_compute_kernels()) {
    if (!kernels.allows(kernel)) forbidden |= static_cast<std::uint32_t>(kernel_bit(kernel));
  }
  return forbidden;
}

std::uint32_t forbidden_sharding(const AllowedSharding& sharding) {
  std::uint32_t forbidden = 0;
  for (const auto& [bit, kind] : kShardingBits) {
    if (!sharding.allows(kind)) forbidden |= bit;
  }
  return forbidden;
}

Status read_reuse(const neuroshard_table& given, std::int64_t batch_size, Table& table) {
  if (given.reuse_histogram == nullptr) {
    if (given.reuse_histogram_size != 0) return require(nullptr, "table.reuse_histogram");
    if (!(given.zipf_alpha >= 0 && given.zipf_alpha <= io::kMaxZipfAlpha)) {
      return invalid_input("table.zipf_alpha: found " + std::to_string(given.zipf_alpha) +
                           ", expected " + io::number_range(0, io::kMaxZipfAlpha));
    }
    NEUROSHARD_RETURN_IF_ERROR(validate(table));  // expected_reuse() needs sane rows
    const double lookups = static_cast<double>(batch_size) * table.pooling_factor;
    table.reuse_histogram = expected_reuse(table.rows, lookups, given.zipf_alpha).histogram;
    return {};
  }
  if (given.zipf_alpha != 0) {
    return invalid_input("table: found both reuse_histogram and zipf_alpha, expected at most one");
  }
  if (given.reuse_histogram_size != kReuseBins) {
    return invalid_input("table.reuse_histogram_size: found " +
                         std::to_string(given.reuse_histogram_size) + ", expected " +
                         std::to_string(kReuseBins));
  }
  std::copy_n(given.reuse_histogram, kReuseBins, table.reuse_histogram.begin());
  return check_given_histogram(table).with_context("table.reuse_histogram");
}

}  // namespace

std::int32_t kernel_bit(ComputeKernel kernel) {
  switch (kernel) {
    case ComputeKernel::kFusedUvmCaching:
      return NEUROSHARD_KERNEL_FUSED_UVM_CACHING;
    case ComputeKernel::kFusedUvm:
      return NEUROSHARD_KERNEL_FUSED_UVM;
    default:
      return NEUROSHARD_KERNEL_FUSED;
  }
}

Result<Table> read_table(const neuroshard_table& given, std::int64_t batch_size) {
  Table table;
  NEUROSHARD_RETURN_IF_ERROR(require_zero(given.reserved, "table.reserved"));
  NEUROSHARD_RETURN_IF_ERROR(require_zero(given.reserved_2, "table.reserved_2"));
  NEUROSHARD_RETURN_IF_ERROR(require_zero(given.reserved_3, "table.reserved_3"));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view name, view_of(given.name, "table.name"));
  if (io::find_invalid_utf8(name) != std::string_view::npos) {
    return invalid_input("table.name: found " + io::excerpt(name) + ", expected UTF-8");
  }
  table.name = name;
  table.rows = given.rows;
  table.dim = given.dim;
  table.features = given.features == 0 ? 1 : given.features;
  if (given.weighted != 0 && given.weighted != 1) {
    return invalid_input("table.weighted: found " + std::to_string(given.weighted) +
                         ", expected 0 or 1");
  }
  table.weighted = given.weighted == 1;
  if (given.unpooled != 0 && given.unpooled != 1) {
    return invalid_input("table.unpooled: found " + std::to_string(given.unpooled) +
                         ", expected 0 or 1");
  }
  table.pooled = given.unpooled == 0;
  table.pooling_factor = given.pooling_factor;
  if (!(given.pooling_factor >= 0 && given.pooling_factor <= io::kMaxPoolingFactor)) {
    return invalid_input("table.pooling_factor: found " + std::to_string(given.pooling_factor) +
                         ", expected " + io::number_range(0, io::kMaxPoolingFactor));
  }
  NEUROSHARD_RETURN_IF_ERROR(
      read_word(given.data_type, "table.data_type", parse_data_type, table.data_type));
  NEUROSHARD_RETURN_IF_ERROR(
      read_word(given.optimizer, "table.optimizer", parse_optimizer, table.optimizer));
  NEUROSHARD_RETURN_IF_ERROR(read_sharding(given, table.sharding));
  NEUROSHARD_RETURN_IF_ERROR(read_kernels(given, table.kernels));
  NEUROSHARD_RETURN_IF_ERROR(read_devices(given, table));
  NEUROSHARD_RETURN_IF_ERROR(read_reuse(given, batch_size, table));
  NEUROSHARD_RETURN_IF_ERROR(validate(table).with_context("table"));
  return table;
}

neuroshard_shard c_shard(const Shard& shard) {
  const bool replica = shard.device == kEveryDevice;
  return {.row_begin = shard.row_begin,
          .row_end = shard.row_end,
          .column_begin = shard.column_begin,
          .column_end = shard.column_end,
          .table = shard.table,
          .device = shard.device,
          .kernel = replica ? 0 : kernel_bit(shard.kernel.kernel),
          .reserved = 0,
          .cache_load_factor = shard.kernel.load_factor};
}

neuroshard_table c_table(const Table& own) {
  neuroshard_table table{};
  table.name = text_of(own.name);
  table.rows = own.rows;
  table.dim = own.dim;
  table.features = own.features;
  table.weighted = own.weighted ? 1 : 0;
  table.pooling_factor = own.pooling_factor;
  table.reuse_histogram = own.reuse_histogram.data();
  table.reuse_histogram_size = own.reuse_histogram.size();
  table.data_type = text_of(to_string(own.data_type));
  table.optimizer = text_of(to_string(own.optimizer));
  table.forbidden_sharding = forbidden_sharding(own.sharding);
  table.min_columns = own.sharding.min_columns;
  table.devices = own.devices.all() ? nullptr : own.devices.devices().data();
  table.device_count = own.devices.devices().size();
  table.unpooled = own.pooled ? 0 : 1;
  table.forbidden_kernels = forbidden_kernels(own.kernels);
  table.cache_load_factor = own.kernels.load_factor;
  return table;
}

}  // namespace neuroshard::api
