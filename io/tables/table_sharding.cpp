#include "io/tables/table_sharding.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/cluster.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

/// Hands each of a list's words, some and each once, to `allow`, which says whether it knows it.
template <typename Allow>
Status read_words(const JsonValue& list, const Allow& allow, const std::string& expected) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array, list.array());
  if (array.size() == 0) return list.error("found an empty array, expected some of " + expected);
  std::set<std::string_view> words;
  for (const JsonValue value : array) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view word, value.text());
    if (!allow(word)) return value.unexpected(expected);
    if (!words.insert(word).second) {
      return value.error("found " + excerpt(word) + " a second time, expected it once");
    }
  }
  return {};
}

/// Allows the kinds that the words of a list stand for, and no others. `kinds_of` has none for a
/// word that it does not know.
template <typename KindsOf>
Status read_kinds(const JsonValue& list, const KindsOf& kinds_of, const std::string& expected,
                  AllowedSharding& sharding) {
  for (const ShardingKind kind : all_sharding_kinds()) sharding.set(kind, false);
  const auto allow = [&](std::string_view word) {
    const std::vector<ShardingKind> kinds = kinds_of(word);
    for (const ShardingKind kind : kinds) sharding.set(kind, true);
    return !kinds.empty();
  };
  return read_words(list, allow, expected);
}

Status read_devices(JsonObject& object, Table& table) {
  const std::optional<JsonValue> list = object.find("devices");
  if (!list) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array, list->array());
  if (array.size() == 0) return list->error("found an empty array, expected some devices");
  std::set<std::int64_t> devices;
  for (const JsonValue value : array) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t device, value.integer(0, kMaxDevices - 1));
    if (!devices.insert(device).second) {
      return value.error("found " + std::to_string(device) + " a second time, expected it once");
    }
  }
  table.devices = DeviceSet(std::vector<std::int32_t>(devices.begin(), devices.end()));
  return {};
}

std::vector<ShardingKind> own_kinds(std::string_view word) {
  const Result<ShardingKind> kind = parse_sharding_kind(word);
  return kind.ok() ? std::vector{*kind} : std::vector<ShardingKind>{};
}

constexpr const char* kTorchRecTypes =
    "'data_parallel', 'table_wise', 'column_wise', 'row_wise', 'table_row_wise', "
    "'table_column_wise' or 'grid_shard'";

/// TorchRec's min_partition (MIN_CW_DIM) where nobody says another.
constexpr std::int64_t kTorchRecPartition = 128;

/// Our kinds for a sharding type of TorchRec's. It leaves tables whole that have no room for two
/// blocks of columns.
std::vector<ShardingKind> torchrec_kinds(std::string_view type, bool has_room) {
  if (type == "table_wise") return {ShardingKind::kWhole};
  if (type == "column_wise" || type == "table_column_wise") {
    if (has_room) return {ShardingKind::kColumns};
    return {ShardingKind::kColumns, ShardingKind::kWhole};
  }
  if (type == "row_wise" || type == "table_row_wise") return {ShardingKind::kRows};
  if (type == "grid_shard") return {ShardingKind::kRows, ShardingKind::kColumns};
  if (type == "data_parallel") return {ShardingKind::kDataParallel};
  return {};
}

}  // namespace

Result<double> read_load_factor(JsonObject& object, std::string_view key) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue value, object.at(key));
  NEUROSHARD_ASSIGN_OR_RETURN(const double factor, value.number());
  if (factor > 0 && factor <= 1) return factor;
  return value.unexpected("above 0 and at most 1");
}

namespace {

Status read_kernels(JsonObject& object, Table& table) {
  if (const std::optional<JsonValue> words = object.find("compute_kernels")) {
    for (const ComputeKernel kernel : all_compute_kernels()) table.kernels.set(kernel, false);
    const auto allow = [&](std::string_view word) {
      const Result<ComputeKernel> kernel = parse_compute_kernel(word);
      if (kernel.ok()) table.kernels.set(*kernel, true);
      return kernel.ok();
    };
    NEUROSHARD_RETURN_IF_ERROR(read_words(*words, allow, compute_kernels()));
  }
  if (!object.has("cache_load_factor")) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(table.kernels.load_factor, read_load_factor(object));
  return {};
}

}  // namespace

Status read_sharding(JsonObject& object, Table& table) {
  if (const std::optional<JsonValue> kinds = object.find("sharding")) {
    NEUROSHARD_RETURN_IF_ERROR(read_kinds(*kinds, own_kinds, sharding_kinds(), table.sharding));
  }
  if (const std::optional<JsonValue> columns = object.find("min_columns")) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t least, columns->integer(kLeastColumns, kMaxDim));
    if (least % kLeastColumns != 0) {
      return columns->unexpected("a multiple of " + std::to_string(kLeastColumns));
    }
    table.sharding.min_columns = static_cast<std::int32_t>(least);
  }
  NEUROSHARD_RETURN_IF_ERROR(read_kernels(object, table));
  return read_devices(object, table);
}

Status read_torchrec_sharding(JsonObject& object, Table& table) {
  NEUROSHARD_RETURN_IF_ERROR(read_kernels(object, table));
  NEUROSHARD_RETURN_IF_ERROR(read_devices(object, table));
  std::int64_t partition = kTorchRecPartition;
  if (const std::optional<JsonValue> least = object.find("min_partition")) {
    NEUROSHARD_ASSIGN_OR_RETURN(partition, least->integer(1, kMaxDim));
    // As there: its blocks are multiples of 4.
    partition = (partition + kLeastColumns - 1) / kLeastColumns * kLeastColumns;
    table.sharding.min_columns = static_cast<std::int32_t>(partition);
  }
  const std::optional<JsonValue> types = object.find("sharding_types");
  if (!types) return {};
  const bool has_room = table.dim >= 2 * partition;
  const auto kinds_of = [&](std::string_view type) { return torchrec_kinds(type, has_room); };
  return read_kinds(*types, kinds_of, kTorchRecTypes, table.sharding);
}

namespace {

void write_kernels(JsonWriter& writer, const AllowedKernels& allowed) {
  if (!allowed.all()) {
    writer.key("compute_kernels").begin_array(JsonWriter::Layout::kLine);
    for (const ComputeKernel kernel : all_compute_kernels()) {
      if (allowed.allows(kernel)) writer.text(to_string(kernel));
    }
    writer.end_array();
  }
  if (allowed.load_factor > 0) writer.key("cache_load_factor").number(allowed.load_factor);
}

}  // namespace

void write_sharding(JsonWriter& writer, const Table& table) {
  const AllowedSharding& sharding = table.sharding;
  if (!sharding.allows_all_kinds()) {
    writer.key("sharding").begin_array(JsonWriter::Layout::kLine);
    for (const ShardingKind kind : all_sharding_kinds()) {
      if (sharding.allows(kind)) writer.text(to_string(kind));
    }
    writer.end_array();
  }
  if (sharding.min_columns != kLeastColumns) {
    writer.key("min_columns").integer(sharding.min_columns);
  }
  write_kernels(writer, table.kernels);
  if (table.devices.all()) return;
  writer.key("devices").begin_array(JsonWriter::Layout::kLine);
  for (const std::int32_t device : table.devices.devices()) writer.integer(device);
  writer.end_array();
}

}  // namespace neuroshard::io
