#include "io/plans/plan_file.h"

#include <cmath>
#include <limits>
#include <set>

#include "engine/core/cluster.h"
#include "engine/core/quoted_choices.h"
#include "io/json/json.h"
#include "io/plans/plan_cost_json.h"
#include "io/plans/plan_json.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

constexpr std::string_view kFormat = "neuroshard-plan";
constexpr std::int64_t kVersion = 1;
constexpr std::string_view kAllDevices = "all";
/// Largest cost of one part: sums of a few stay finite.
constexpr double kMaxPartMs = 1e300;

struct Range {
  std::int64_t begin;
  std::int64_t end;
};

/// What a range may be: integers from low to high, and, unless `any`, not empty.
struct Bounds {
  std::int64_t low;
  std::int64_t high;
  bool any = false;
};

/// `"key": [begin, end]`.
Result<Range> read_range(JsonObject& object, std::string_view key, const Bounds& bounds) {
  const auto& [low, high, any] = bounds;
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue value, object.at(key));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray pair, value.array(2));
  auto element = pair.begin();
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t begin,
                              (*element).integer(low, any ? high : high - 1));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t end,
                              (*++element).integer(any ? low : begin + 1, high));
  return Range{begin, end};
}

constexpr std::int64_t kMinInt32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();

/// The device of shard `index`. One that the plan does not have is an error, or, with `faults`, a
/// line there, and 0 stands in its place.
Result<std::int32_t> read_device(JsonObject& object, std::size_t index, std::int32_t devices,
                                 std::vector<std::string>* faults) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue value, object.at("device"));
  if (value.is_string() && *value.text() == kAllDevices) return kEveryDevice;
  const Result<std::int64_t> number = value.integer();
  if (number.ok() && *number >= 0 && *number < devices) return static_cast<std::int32_t>(*number);
  if (!number.ok() || faults == nullptr) {
    return value.unexpected(integer_range(0, devices - 1) + ", or 'all'");
  }
  faults->push_back("shards[" + std::to_string(index) + "]: device " + std::to_string(*number) +
                    ", expected 0 to " + std::to_string(devices - 1) + ", or 'all'");
  return 0;
}

/// With `faults`, whatever its fields say.
Result<Shard> read_shard(const JsonValue& value, std::size_t index, std::int32_t devices,
                         std::vector<std::string>* faults) {
  const bool any = faults != nullptr;
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, value.object());
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t table,
                              object.integer("table", any ? kMinInt32 : 0, kMaxInt32));
  const Bounds row_bounds{any ? kMinInteger : 0, kMaxInteger, any};
  const Bounds column_bounds{any ? kMinInt32 : 0, any ? kMaxInt32 : std::int64_t{kMaxDim}, any};
  NEUROSHARD_ASSIGN_OR_RETURN(const Range rows, read_range(object, "rows", row_bounds));
  NEUROSHARD_ASSIGN_OR_RETURN(const Range columns, read_range(object, "columns", column_bounds));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int32_t device,
                              read_device(object, index, devices, faults));
  NEUROSHARD_RETURN_IF_ERROR(object.finish());
  return Shard{static_cast<std::int32_t>(table),
               rows.begin,
               rows.end,
               static_cast<std::int32_t>(columns.begin),
               static_cast<std::int32_t>(columns.end),
               device};
}

Result<DeviceCost> read_device_cost(const JsonValue& value, std::size_t device) {
  const auto index = static_cast<std::int64_t>(device);
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, value.object());
  NEUROSHARD_RETURN_IF_ERROR(object.integer("device", index, index).status());
  DeviceCost cost;
  // Predictions of a network: a small negative cost is possible and not the reader's to judge.
  NEUROSHARD_ASSIGN_OR_RETURN(cost.compute_ms,
                              object.number("compute_ms", -kMaxPartMs, kMaxPartMs));
  NEUROSHARD_ASSIGN_OR_RETURN(cost.forward_comm_ms,
                              object.number("forward_comm_ms", -kMaxPartMs, kMaxPartMs));
  NEUROSHARD_ASSIGN_OR_RETURN(cost.backward_comm_ms,
                              object.number("backward_comm_ms", -kMaxPartMs, kMaxPartMs));
  if (object.has("dense_ms")) {
    NEUROSHARD_ASSIGN_OR_RETURN(cost.dense_ms, object.number("dense_ms", 0, kMaxPartMs));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue total, object.at("total_ms"));
  NEUROSHARD_ASSIGN_OR_RETURN(const double total_ms, total.number());
  if (std::abs(total_ms - cost.total_ms()) > 1e-6 * (1 + std::abs(cost.total_ms()))) {
    return total.unexpected("the sum of the other costs, " + format_number(cost.total_ms()));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(cost.memory_bytes, object.integer("memory_bytes", 0));
  if (object.has("host_bytes")) {
    NEUROSHARD_ASSIGN_OR_RETURN(cost.host_bytes, object.integer("host_bytes", 0));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(cost.dim_sum, object.integer("dim_sum", 0));
  NEUROSHARD_RETURN_IF_ERROR(object.finish());
  return cost;
}

Status read_costs(JsonObject& root, PlanDocument& document) {
  PlanCost& cost = document.cost;
  if (const std::optional<JsonValue> value = root.find("cost_ms")) {
    NEUROSHARD_ASSIGN_OR_RETURN(cost.cost_ms, value->number());
  }
  if (root.has("lower_bound_ms")) {
    NEUROSHARD_ASSIGN_OR_RETURN(document.lower_bound_ms,
                                root.number("lower_bound_ms", 0, kMaxPartMs));
  }
  const std::optional<JsonValue> per_device = root.find("per_device");
  if (!per_device) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array,
                              per_device->array(static_cast<std::size_t>(document.plan.devices)));
  for (const JsonValue value : array) {
    NEUROSHARD_ASSIGN_OR_RETURN(const DeviceCost device,
                                read_device_cost(value, cost.per_device.size()));
    cost.per_device.push_back(device);
  }
  return {};
}

Status read_buffers(JsonObject& root, StepBuffers& buffers) {
  const std::optional<JsonValue> value = root.find("buffers");
  if (!value) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view word, value->text());
  const Result<StepBuffers> known = parse_step_buffers(word);
  if (!known.ok()) return value->unexpected(quoted_choices(all_step_buffers()));
  buffers = *known;
  return {};
}

/// Memory and hosts that the plan was made for.
Status read_cluster(JsonObject& root, PlanDocument& document) {
  PlanSetting& setting = document.setting;
  if (root.has("device_memory_bytes")) {
    NEUROSHARD_ASSIGN_OR_RETURN(setting.memory_bytes, root.integer("device_memory_bytes", 1));
  }
  if (root.has("host_memory_bytes")) {
    NEUROSHARD_ASSIGN_OR_RETURN(setting.host_memory_bytes, root.integer("host_memory_bytes", 1));
  }
  const std::optional<JsonValue> hosts = root.find("devices_per_host");
  if (!hosts) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t each, hosts->integer(1, kMaxDevices));
  if (document.plan.devices % each != 0) {
    return hosts->unexpected("a divisor of " + std::to_string(document.plan.devices) + " devices");
  }
  document.places.devices_per_host = static_cast<std::int32_t>(each);
  return {};
}

/// As many as `shards` may name, each once.
Status read_table_names(JsonObject& root, std::vector<std::string>& names) {
  const std::optional<JsonValue> list = root.find("table_names");
  if (!list) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array, list->array());
  std::set<std::string_view> known;
  for (const JsonValue value : array) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view name, value.text());
    if (!known.insert(name).second) {
      return value.error("found the name " + excerpt(name) +
                         " a second time, expected unique names");
    }
    names.emplace_back(name);
  }
  return {};
}

void write_cluster(JsonWriter& writer, const PlanDocument& document) {
  const PlanSetting& setting = document.setting;
  if (setting.memory_bytes > 0) writer.key("device_memory_bytes").integer(setting.memory_bytes);
  if (setting.host_memory_bytes > 0) {
    writer.key("host_memory_bytes").integer(setting.host_memory_bytes);
  }
  const std::int32_t hosts = document.places.devices_per_host;
  if (hosts > 0) writer.key("devices_per_host").integer(hosts);
}

void write_table_names(JsonWriter& writer, const std::vector<std::string>& names) {
  if (names.empty()) return;
  writer.key("table_names").begin_array();
  for (const std::string& name : names) writer.text(name);
  writer.end_array();
}

}  // namespace

Result<PlanDocument> parse_plan(std::string_view bytes, const std::string& source,
                                std::vector<std::string>* faults) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonDocument json, JsonDocument::parse(bytes, source));
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject root, json.root().object());
  NEUROSHARD_RETURN_IF_ERROR(root.format(kFormat, kVersion));
  PlanDocument document;
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t devices, root.integer("devices", 1, kMaxDevices));
  document.plan.devices = static_cast<std::int32_t>(devices);
  NEUROSHARD_ASSIGN_OR_RETURN(document.batch_size, root.integer("batch_size", 1));
  NEUROSHARD_RETURN_IF_ERROR(read_buffers(root, document.buffers));
  NEUROSHARD_RETURN_IF_ERROR(read_exchange(root, document.exchange));
  NEUROSHARD_RETURN_IF_ERROR(read_cluster(root, document));
  NEUROSHARD_RETURN_IF_ERROR(read_table_names(root, document.setting.table_names));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray shards, root.array("shards"));
  for (const JsonValue value : shards) {
    Plan& plan = document.plan;
    NEUROSHARD_ASSIGN_OR_RETURN(const Shard shard,
                                read_shard(value, plan.shards.size(), plan.devices, faults));
    plan.shards.push_back(shard);
  }
  NEUROSHARD_RETURN_IF_ERROR(read_offloaded(root, document.plan, faults));
  NEUROSHARD_RETURN_IF_ERROR(read_hot_rows(root, document, faults));
  NEUROSHARD_RETURN_IF_ERROR(read_cost_error(root, document.cost_error));
  NEUROSHARD_RETURN_IF_ERROR(read_by_models(root, document.by_models));
  NEUROSHARD_RETURN_IF_ERROR(read_costs(root, document));
  NEUROSHARD_RETURN_IF_ERROR(read_provenance(root, document.provenance));
  NEUROSHARD_RETURN_IF_ERROR(root.finish());
  return document;
}

void write_plan(JsonWriter& writer, const PlanDocument& document) {
  writer.begin_object();
  writer.key("format").text(kFormat);
  writer.key("version").integer(kVersion);
  writer.key("devices").integer(document.plan.devices);
  writer.key("batch_size").integer(document.batch_size);
  if (document.buffers != StepBuffers::kOff) {
    writer.key("buffers").text(to_string(document.buffers));
  }
  write_exchange(writer, document.exchange);
  write_cluster(writer, document);
  const bool has_costs = !document.cost.per_device.empty();
  if (has_costs || document.cost.cost_ms != 0) writer.key("cost_ms").number(document.cost.cost_ms);
  if (document.lower_bound_ms) writer.key("lower_bound_ms").number(*document.lower_bound_ms);
  write_cost_error(writer, document.cost_error);
  write_by_models(writer, document.by_models);
  write_table_names(writer, document.setting.table_names);
  writer.key("shards");
  write_shards(writer, document.plan);
  write_offloaded(writer, document.plan);
  write_hot_rows(writer, document.plan, document.hot_lookups);
  if (has_costs) {
    writer.key("per_device");
    write_device_costs(writer, document.cost.per_device);
  }
  if (document.provenance != PlanProvenance{}) {
    writer.key("provenance");
    write_provenance(writer, document.provenance);
  }
  writer.end_object();
}

std::string format_plan(const PlanDocument& document) {
  JsonWriter writer;
  write_plan(writer, document);
  return writer.take();
}

}  // namespace neuroshard::io
