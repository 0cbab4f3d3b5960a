#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "io/json/json.h"
#include "io/json/json_writer.h"
#include "io/plans/plan_document.h"

namespace neuroshard::io {

/// What plan files, foreign plans and comparisons share: the `shards` array in canonical order and
/// the `per_device` array in device order, an object a line. Each writes a value, so a key goes
/// first.
void write_shards(JsonWriter& writer, Plan plan);
/// Of a shard the members `rows`, `columns` and `device`, inside an object.
void write_shard_place(JsonWriter& writer, const Shard& shard);
void write_device_costs(JsonWriter& writer, const std::vector<DeviceCost>& costs);

/// The member `offloaded` of plans with tables in host memory; nothing for others.
void write_offloaded(JsonWriter& writer, const Plan& plan);
/// Reads it for the plan's shards, which have been read; absent: none. Tables in order, each once;
/// `faults`: not null where what is wrong with them is told instead of refused.
Status read_offloaded(JsonObject& root, Plan& plan, std::vector<std::string>* faults);

/// The member `hot_rows` of plans that have such tables, with what is said of their lookups;
/// nothing for others.
void write_hot_rows(JsonWriter& writer, const Plan& plan,
                    const std::vector<HotLookups>& lookups = {});
/// Reads it for the plan's shards, as read_offloaded() does, which comes first.
Status read_hot_rows(JsonObject& root, PlanDocument& document, std::vector<std::string>* faults);

/// The member `cost_error`, how sure the cost before it is: {"share": 0.08, "basis": "text"}, share
/// null where it is not known; nothing for none.
void write_cost_error(JsonWriter& writer, const std::optional<CostError>& error);
/// Reads it; absent: none.
Status read_cost_error(JsonObject& root, std::optional<CostError>& error);

/// The member `exchange` of plans whose exchanges are not fp32 both ways: {"forward": "fp16",
/// "backward": "bf16"}; nothing for others.
void write_exchange(JsonWriter& writer, const ExchangeFormat& exchange);
/// Reads it; absent: fp32.
Status read_exchange(JsonObject& root, ExchangeFormat& exchange);

/// The member `robust` of plans made for several cost models; nothing for others.
void write_by_models(JsonWriter& writer, const std::vector<CostByModel>& costs);
/// Reads it; absent: none.
Status read_by_models(JsonObject& root, std::vector<CostByModel>& costs);

/// The `provenance` object of a plan, as a value.
void write_provenance(JsonWriter& writer, const PlanProvenance& provenance);
/// Reads the member `provenance` of `root`; without one all fields stay empty.
Status read_provenance(JsonObject& root, PlanProvenance& provenance);

}  // namespace neuroshard::io
