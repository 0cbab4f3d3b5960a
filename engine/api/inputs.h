#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/api/handles.h"
#include "engine/core/cluster.h"
#include "engine/core/status.h"

// Arguments of the C interface that are values of ours.

namespace neuroshard::api {

/// The devices a caller describes.
struct GivenCluster {
  Cluster devices;  ///< without buffers where they are not said, and without hosts
  bool says_buffers = false;
  bool says_exchange = false;
  bool any_exchange = false;  ///< NEUROSHARD_EXCHANGE_AUTO; the devices have fp32

  /// With what it does not say as a plan remembers it.
  [[nodiscard]] Cluster like(const io::PlanDocument& plan) const;
};

/// Those, checked.
Result<GivenCluster> read_cluster(const neuroshard_cluster* cluster);

/// NEUROSHARD_BUFFERS_.. of those.
std::int32_t number_of(StepBuffers buffers);

/// NEUROSHARD_EXCHANGE_.. of that.
std::int32_t number_of(Precision precision);

/// kInvalidInput for NEUROSHARD_EXCHANGE_AUTO, where nothing is searched.
Status check_one_exchange(const GivenCluster& cluster);

/// kInvalidInput unless plan and workload have the same batch size.
Status check_same_batch(const neuroshard_workload& workload, const neuroshard_plan& plan);

/// And unless the cluster has the plan's devices.
Status check_same_devices(const GivenCluster& cluster, const neuroshard_plan& plan);

/// kInvalidInput unless it is below `count`.
Status check_index(std::size_t index, std::size_t count);

}  // namespace neuroshard::api
