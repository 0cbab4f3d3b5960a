// Part of neuroshard/engine.hpp: the devices to place tables on.
#ifndef NEUROSHARD_ENGINE_CLUSTER_HPP_
#define NEUROSHARD_ENGINE_CLUSTER_HPP_

#include <neuroshard/engine/base.hpp>
#include <neuroshard/engine/cluster.h>

#include <cstdint>

namespace neuroshard {
inline namespace api {

/// Devices, all alike; see neuroshard_cluster.
struct Cluster {
  std::int32_t devices = 0;
  std::int64_t memory_bytes = 0;  ///< for tables, and `buffers`, on each device
  std::int32_t devices_per_host = 0;
  std::int64_t host_memory_bytes = 0;  ///< of each host, for tables; 0: none, or not watched
  std::int32_t buffers = NEUROSHARD_BUFFERS_DEFAULT;
  std::int32_t exchange_forward = NEUROSHARD_EXCHANGE_DEFAULT;
  std::int32_t exchange_backward = NEUROSHARD_EXCHANGE_DEFAULT;

  [[nodiscard]] neuroshard_cluster c_struct() const {
    auto value = detail::versioned<neuroshard_cluster>();
    value.devices = devices;
    value.memory_bytes = memory_bytes;
    value.devices_per_host = devices_per_host;
    value.host_memory_bytes = host_memory_bytes;
    value.buffers = buffers;
    value.exchange_forward = exchange_forward;
    value.exchange_backward = exchange_backward;
    return value;
  }
};

}  // namespace api
}  // namespace neuroshard

#endif
