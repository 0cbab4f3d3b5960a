#pragma once

#include <string>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "io/json/json.h"
#include "io/json/json_writer.h"
#include "io/plans/plan_document.h"

namespace neuroshard::io {

// Where a plan has what, as plan files, foreign plans and reports share it. What it costs is in
// plan_cost_json.h.

/// The `shards` array in canonical order, an object a line, as a value: a key goes first.
void write_shards(JsonWriter& writer, Plan plan);
/// Of a shard the members `rows`, `columns` and `device`, inside an object.
void write_shard_place(JsonWriter& writer, const Shard& shard);

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

/// The member `exchange` of plans whose exchanges are not fp32 both ways: {"forward": "fp16",
/// "backward": "bf16"}; nothing for others.
void write_exchange(JsonWriter& writer, const ExchangeFormat& exchange);
/// Reads it; absent: fp32.
Status read_exchange(JsonObject& root, ExchangeFormat& exchange);

}  // namespace neuroshard::io
