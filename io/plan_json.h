#pragma once

#include <vector>

#include "engine/core/plan.h"
#include "io/json_writer.h"

namespace neuroshard::io {

/// What plan files and comparisons share: the `shards` array in canonical order and the
/// `per_device` array in device order, an object a line. Each writes a value, so a key goes first.
void write_shards(JsonWriter& writer, Plan plan);
void write_device_costs(JsonWriter& writer, const std::vector<DeviceCost>& costs);

}  // namespace neuroshard::io
