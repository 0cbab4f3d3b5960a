#pragma once

#include <cstdint>
#include <optional>

#include "engine/api/handles.h"
#include "engine/core/cluster.h"
#include "engine/core/status.h"

// Arguments of the C interface that are values of ours.

namespace neuroshard::c_api {

/// The devices a caller describes.
struct GivenCluster {
  Cluster devices;
  std::int32_t devices_per_host = 0;     ///< 0: not said
  std::int64_t host_memory_bytes = 0;    ///< 0: none, or not watched
  std::optional<StepBuffers> buffers{};  ///< nothing: not said
};

/// Those, checked.
Result<GivenCluster> read_cluster(const neuroshard_cluster* cluster);

/// The tables, with buffers counted in their bytes for so many devices.
Result<Workload> with_buffers(const neuroshard_workload& workload, StepBuffers buffers,
                              std::int32_t devices);

/// NEUROSHARD_BUFFERS_.. of those.
std::int32_t number_of(StepBuffers buffers);

/// kInvalidInput unless plan and workload have the same batch size.
Status check_same_batch(const neuroshard_workload& workload, const neuroshard_plan& plan);

}  // namespace neuroshard::c_api
