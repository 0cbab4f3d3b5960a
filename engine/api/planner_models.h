#pragma once

#include <cstdint>
#include <memory>

#include "engine/api/handles.h"

namespace neuroshard::api {

using Models = std::shared_ptr<const NamedCostModels>;

/// The planner's cost models; those that go by hosts with hosts of so many devices, where said (not
/// 0).
Models models_for(const neuroshard_planner& planner, std::int32_t devices_per_host);

}  // namespace neuroshard::api
