#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <set>

#include "engine/core/cluster.h"
#include "io/json/json.h"
#include "io/plans/plan_cost_json.h"
#include "io/plans/plan_json.h"
#include "io/tables/table_sharding.h"
#include "io/text.h"
#include "io/trainers/torchrec_plan.h"

namespace neuroshard::io {
namespace {

constexpr std::array<std::string_view, 7> kShardingTypes{
    "table_wise", "column_wise",       "row_wise",     "table_row_wise",
    "grid_shard", "table_column_wise", "data_parallel"};

/// TorchRec 1.4's EmbeddingComputeKernel.
constexpr std::array<std::string_view, 11> kComputeKernels{"dense",
                                                           "fused",
                                                           "fused_uvm",
                                                           "fused_uvm_caching",
                                                           "quant",
                                                           "quant_uvm",
                                                           "key_value",
                                                           "quant_uvm_caching",
                                                           "customized_kernel",
                                                           "ssd_virtual_table",
                                                           "dram_virtual_table"};

/// "cuda:1" or "cpu".
TorchRecDevice parse_device(std::string_view text) {
  const std::size_t colon = text.find(':');
  TorchRecDevice device{std::string(text.substr(0, colon))};
  if (colon == std::string_view::npos) return device;
  const char* end = text.data() + text.size();
  std::int32_t local = -1;
  const auto [last, error] = std::from_chars(text.data() + colon + 1, end, local);
  if (error == std::errc() && last == end && local >= 0) device.local = local;
  return device;
}

/// Rank of "rank:R/cuda:L", "rank:R/cpu" or "rank:R/meta", whose device goes to `device`.
Result<std::int32_t> parse_placement(const JsonValue& value, TorchRecDevice& device) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view text, value.text());
  constexpr std::string_view kPrefix = "rank:";
  const std::size_t slash = text.find('/');
  if (text.starts_with(kPrefix) && slash != std::string_view::npos && slash + 1 < text.size()) {
    const char* begin = text.data() + kPrefix.size();
    const char* end = text.data() + slash;
    std::int32_t rank = -1;
    const auto [last, error] = std::from_chars(begin, end, rank);
    if (error == std::errc() && last == end && rank >= 0 && rank < kMaxDevices) {
      device = parse_device(text.substr(slash + 1));
      return rank;
    }
  }
  return value.unexpected("a placement such as 'rank:0/cuda:0', rank below " +
                          std::to_string(kMaxDevices));
}

/// Two integers: [rows, columns].
struct Pair {
  std::int64_t rows;
  std::int32_t columns;
};

Result<Pair> read_pair(JsonObject& object, std::string_view key, std::int64_t max_rows,
                       std::int32_t min_columns) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue value, object.at(key));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray pair, value.array(2));
  auto element = pair.begin();
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t rows, (*element).integer(0, max_rows));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t columns,
                              (*++element).integer(min_columns, kMaxDim));
  return Pair{rows, static_cast<std::int32_t>(columns)};
}

Result<Shard> read_shard(const JsonValue& value, TorchRecDevice& device) {
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, value.object());
  NEUROSHARD_ASSIGN_OR_RETURN(const Pair offsets,
                              read_pair(object, "shard_offsets", kMaxInteger / 2, 0));
  NEUROSHARD_ASSIGN_OR_RETURN(const Pair sizes,
                              read_pair(object, "shard_sizes", kMaxInteger / 2, 1));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue placement, object.at("placement"));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int32_t rank, parse_placement(placement, device));
  NEUROSHARD_RETURN_IF_ERROR(object.finish());
  return Shard{0,
               offsets.rows,
               offsets.rows + sizes.rows,
               offsets.columns,
               offsets.columns + sizes.columns,
               rank};
}

/// One of TorchRec's names.
Result<std::string> read_name(JsonObject& object, std::string_view key,
                              std::span<const std::string_view> names) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue value, object.at(key));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view text, value.text());
  std::string known;
  for (const std::string_view name : names) {
    if (name == text) return std::string(text);
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return value.unexpected("one of " + known);
}

Status read_ranks(JsonObject& object, std::vector<std::int32_t>& ranks) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array, object.array("ranks"));
  for (const JsonValue value : array) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t rank, value.integer(0, kMaxDevices - 1));
    ranks.push_back(static_cast<std::int32_t>(rank));
  }
  return {};
}

/// Shards in the order of ranks: TorchRec gives shards[i] to ranks[i] and says so in its placement.
Status read_shards(JsonObject& object, TorchRecTable& table) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue value, object.at("shards"));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray shards, value.array());
  if (shards.size() == 0 || shards.size() != table.ranks.size()) {
    return value.error("found " + std::to_string(shards.size()) + " shards and " +
                       std::to_string(table.ranks.size()) + " ranks, expected one rank a shard");
  }
  for (const JsonValue element : shards) {
    NEUROSHARD_ASSIGN_OR_RETURN(const Shard shard,
                                read_shard(element, table.devices.emplace_back()));
    const std::int32_t rank = table.ranks[table.shards.size()];
    if (shard.device != rank) {
      return element.error("found a placement on rank " + std::to_string(shard.device) +
                           ", expected rank " + std::to_string(rank) + " as in ranks");
    }
    table.shards.push_back(shard);
  }
  return {};
}

/// `"cache_params"`: of the one kernel that has a cache, and nothing but what the engine knows.
Status read_cache_params(JsonObject& object, TorchRecTable& table) {
  const std::optional<JsonValue> value = object.find("cache_params");
  if (!value) return {};
  const std::string_view cached = to_string(ComputeKernel::kFusedUvmCaching);
  if (table.compute_kernel != cached) {
    return value->error("found with the compute kernel '" + table.compute_kernel +
                        "', expected with '" + std::string(cached) + "' alone");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject params, value->object());
  NEUROSHARD_ASSIGN_OR_RETURN(table.load_factor, read_load_factor(params, "load_factor"));
  return params.finish();
}

Result<TorchRecTable> read_table(std::string_view name, const JsonValue& value) {
  TorchRecTable table;
  table.name = name;
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, value.object());
  NEUROSHARD_ASSIGN_OR_RETURN(table.sharding_type,
                              read_name(object, "sharding_type", kShardingTypes));
  NEUROSHARD_ASSIGN_OR_RETURN(table.compute_kernel,
                              read_name(object, "compute_kernel", kComputeKernels));
  NEUROSHARD_RETURN_IF_ERROR(read_cache_params(object, table));
  NEUROSHARD_RETURN_IF_ERROR(read_ranks(object, table.ranks));
  if (table.sharding_type != "data_parallel") {
    NEUROSHARD_RETURN_IF_ERROR(read_shards(object, table));
  }
  NEUROSHARD_RETURN_IF_ERROR(object.finish());
  return table;
}

/// The engine's own block.
Status read_origin(JsonObject& root, TorchRecPlan& plan) {
  if (!root.has("neuroshard")) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, root.object("neuroshard"));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t devices,
                              object.integer("devices", 1, kMaxDevices));
  plan.devices = static_cast<std::int32_t>(devices);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t per_host,
                              object.integer("devices_per_host", 1, devices));
  plan.devices_per_host = static_cast<std::int32_t>(per_host);
  NEUROSHARD_ASSIGN_OR_RETURN(plan.batch_size, object.integer("batch_size", 1));
  NEUROSHARD_RETURN_IF_ERROR(read_exchange(object, plan.exchange));
  NEUROSHARD_RETURN_IF_ERROR(read_provenance(object, plan.provenance));
  return object.finish();
}

}  // namespace

Result<TorchRecPlan> parse_torchrec_plan(std::string_view bytes, const std::string& source) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonDocument json, JsonDocument::parse(bytes, source));
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject root, json.root().object());
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject modules, root.object("plan"));
  TorchRecPlan plan;
  std::set<std::string_view> names;
  for (std::size_t m = 0; m < modules.size(); ++m) {
    NEUROSHARD_ASSIGN_OR_RETURN(JsonObject module, modules.member(m).object());
    for (std::size_t t = 0; t < module.size(); ++t) {
      const JsonValue member = module.member(t);
      if (!names.insert(module.key(t)).second) {
        return member.error("found the table " + excerpt(module.key(t)) +
                            " in a second module, expected unique names");
      }
      NEUROSHARD_ASSIGN_OR_RETURN(TorchRecTable table, read_table(module.key(t), member));
      table.module = modules.key(m);
      plan.tables.push_back(std::move(table));
    }
  }
  if (plan.tables.empty()) return modules.value().error("found no tables, expected at least one");
  NEUROSHARD_RETURN_IF_ERROR(read_origin(root, plan));
  NEUROSHARD_RETURN_IF_ERROR(root.finish());
  return plan;
}

}  // namespace neuroshard::io
