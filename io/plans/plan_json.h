#pragma once

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
/// Reads it; absent: none. Tables in order, each once.
Status read_offloaded(JsonObject& root, Plan& plan);

/// The `provenance` object of a plan, as a value.
void write_provenance(JsonWriter& writer, const PlanProvenance& provenance);
/// Reads the member `provenance` of `root`; without one all fields stay empty.
Status read_provenance(JsonObject& root, PlanProvenance& provenance);

}  // namespace neuroshard::io
