#pragma once

#include <optional>
#include <vector>

#include "engine/core/cost_error.h"
#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "io/json/json.h"
#include "io/json/json_writer.h"
#include "io/plans/plan_document.h"

// What a plan costs, and where that is from, as plan files, foreign plans and reports share it.

namespace neuroshard::io {

/// The `per_device` array in device order, an object a line, as a value: a key goes first.
void write_device_costs(JsonWriter& writer, const std::vector<DeviceCost>& costs);

/// The member `cost_error`, how sure the cost before it is: {"share": 0.08, "basis": "text"}, share
/// null where it is not known; nothing for none.
void write_cost_error(JsonWriter& writer, const std::optional<CostError>& error);
/// Reads it; absent: none.
Status read_cost_error(JsonObject& root, std::optional<CostError>& error);

/// The member `robust` of plans made for several cost models; nothing for others.
void write_by_models(JsonWriter& writer, const std::vector<CostByModel>& costs);
/// Reads it; absent: none.
Status read_by_models(JsonObject& root, std::vector<CostByModel>& costs);

/// The `provenance` object of a plan, as a value.
void write_provenance(JsonWriter& writer, const PlanProvenance& provenance);
/// Reads the member `provenance` of `root`; without one all fields stay empty.
Status read_provenance(JsonObject& root, PlanProvenance& provenance);

}  // namespace neuroshard::io
