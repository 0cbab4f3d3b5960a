#include <map>

#include "engine/core/cluster.h"
#include "io/json/json.h"
#include "io/text.h"
#include "io/trainers/hugectr_plan.h"

namespace neuroshard::io {
namespace {

/// GPUs that list a table, by its name.
using Places = std::map<std::string, std::vector<std::int32_t>, std::less<>>;

Status read_matrix(JsonObject& root, HugeCtrPlan& plan, Places& places) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray rows, root.array("shard_matrix"));
  if (rows.size() == 0 || rows.size() > static_cast<std::size_t>(kMaxDevices)) {
    return rows.value().error("found " + std::to_string(rows.size()) + " GPUs, expected 1 to " +
                              std::to_string(kMaxDevices));
  }
  for (const JsonValue row : rows) {
    NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray names, row.array());
    for (const JsonValue element : names) {
      NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view name, element.text());
      std::vector<std::int32_t>& gpus = places[std::string(name)];
      if (!gpus.empty() && gpus.back() == plan.devices) {
        return element.error("found " + excerpt(name) +
                             " a second time on this GPU, expected it once");
      }
      gpus.push_back(plan.devices);
    }
    ++plan.devices;
  }
  return {};
}

/// "name" or ["name", column factor].
Status read_entry(const JsonValue& value, HugeCtrTable& table) {
  if (!value.is_array()) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view name, value.text());
    table.name = name;
    return {};
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray pair, value.array(2));
  auto element = pair.begin();
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view name, (*element).text());
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t factor, (*++element).integer(1, kMaxDim));
  table.name = name;
  table.column_factor = static_cast<std::int32_t>(factor);
  return {};
}

/// Moves the table's GPUs out of `places`: what is left there is in no strategy.
Status take_gpus(const JsonValue& value, Places& places, HugeCtrTable& table) {
  const auto place = places.find(table.name);
  if (place == places.end()) {
    return value.error("found " + excerpt(table.name) +
                       ", expected a table that shard_matrix lists and no other strategy holds");
  }
  table.gpus = std::move(place->second);
  places.erase(place);
  return {};
}

Status read_strategy(const JsonValue& value, Places& places, HugeCtrPlan& plan) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray pair, value.array(2));
  auto element = pair.begin();
  const JsonValue kind = *element;
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view word, kind.text());
  if (word != "mp" && word != "dp") return kind.unexpected("'mp' or 'dp'");
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray entries, (*++element).array());
  for (const JsonValue entry : entries) {
    HugeCtrTable table;
    table.data_parallel = word == "dp";
    NEUROSHARD_RETURN_IF_ERROR(read_entry(entry, table));
    NEUROSHARD_RETURN_IF_ERROR(take_gpus(entry, places, table));
    plan.tables.push_back(std::move(table));
  }
  return {};
}

/// How HugeCTR sends what the plan places: nothing of a plan of ours, but it must be well-formed.
Status read_communication(JsonObject& root) {
  if (const std::optional<JsonValue> comm = root.find("comm_strategy")) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view word, comm->text());
    if (word != "Uniform" && word != "Hierarchical") {
      return comm->unexpected("'Uniform' or 'Hierarchical'");
    }
  }
  if (!root.has("compression_strategy")) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject kinds, root.object("compression_strategy"));
  for (const std::string_view kind : {"Unique", "Reduction"}) {
    const std::optional<JsonValue> value = kinds.find(kind);
    if (!value) continue;
    NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray names, value->array());
    for (const JsonValue name : names) NEUROSHARD_RETURN_IF_ERROR(name.text().status());
  }
  return kinds.finish();
}

}  // namespace

Result<HugeCtrPlan> parse_hugectr_plan(std::string_view bytes, const std::string& source) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonDocument json, JsonDocument::parse(bytes, source));
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject root, json.root().object());
  HugeCtrPlan plan;
  Places places;
  NEUROSHARD_RETURN_IF_ERROR(read_matrix(root, plan, places));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray strategies, root.array("shard_strategy"));
  for (const JsonValue strategy : strategies) {
    NEUROSHARD_RETURN_IF_ERROR(read_strategy(strategy, places, plan));
  }
  if (!places.empty()) {
    return strategies.value().error("found no strategy for " + excerpt(places.begin()->first) +
                                    ", expected one for every table of shard_matrix");
  }
  if (plan.tables.empty()) {
    return strategies.value().error("found no tables, expected at least one");
  }
  NEUROSHARD_RETURN_IF_ERROR(read_communication(root));
  NEUROSHARD_RETURN_IF_ERROR(root.finish());
  return plan;
}

}  // namespace neuroshard::io
