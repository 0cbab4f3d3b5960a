#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/status.h"
#include "io/json/json_writer.h"
#include "io/plans/plan_document.h"

namespace neuroshard::io {

/// The name of the engine's own format among those that plans are written in.
inline constexpr std::string_view kNativeFormat = "json";

/// Reads `neuroshard-plan` version 1. Shards keep the order of the file; a table that every device
/// holds has "device": "all" (kEveryDevice). Ranges of single fields are checked here; that the
/// shards tile a workload is core validate(workload, plan). `buffers`,
/// `device_memory_bytes`, `host_memory_bytes`, `devices_per_host`, `table_names`, `cost_ms`,
/// `lower_bound_ms`, `per_device` and `provenance` are optional, in the latter `hardware` together
/// with `cost_provenance`. Errors: kInvalidInput naming source and JSON path. With `faults`, ranges
/// of a shard's fields are not checked, as core find_faults() tells them all: devices that the plan
/// does not have, which that could take for "all", are told there, one line each, and device 0
/// stands in their place.
Result<PlanDocument> parse_plan(std::string_view bytes, const std::string& source,
                                std::vector<std::string>* faults = nullptr);

/// DESIGN section 7 text: shards in canonical order, one a line; the same bytes for the same value.
std::string format_plan(const PlanDocument& document);
/// The same as a value inside other JSON.
void write_plan(JsonWriter& writer, const PlanDocument& document);

}  // namespace neuroshard::io
