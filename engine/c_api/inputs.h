#pragma once

#include <cstdint>

#include "engine/c_api/handles.h"
#include "engine/core/cluster.h"
#include "engine/core/status.h"
#include "engine/cost_model/torchrec_costs.h"

// Arguments that several functions of the C interface take.

namespace neuroshard::c_api {

/// The devices a caller describes.
struct GivenCluster {
  Cluster devices;
  std::int32_t devices_per_host = 0;  ///< 0: not said
  TorchRecBandwidths bandwidths{};
};

/// Those, checked.
Result<GivenCluster> read_cluster(const neuroshard_cluster* cluster);

/// kInvalidInput unless plan and workload have the same batch size.
Status check_same_batch(const neuroshard_workload& workload, const neuroshard_plan& plan);

}  // namespace neuroshard::c_api
