#include "engine/cost_model/capabilities.h"

#include <algorithm>

namespace neuroshard {
namespace {

Capabilities of_formula(const TorchRecBandwidths& bandwidths) {
  Capabilities own;
  own.row_splits = RowSplits::kEven;  // it has no costs of halves
  own.row_parts = kMaxDevices;
  own.hosts = true;
  own.replicas = true;
  own.host_memory = true;
  own.sequences = true;
  own.exchange = PrecisionSet::all();
  own.fused_is_fastest = fused_is_fastest(bandwidths);
  own.additive = true;
  own.even_samples = true;
  own.settable_bandwidths = true;
  return own;
}

Capabilities of_networks(const CostModels& models) {
  Capabilities own;
  if (models.compute) own.row_parts = models.compute->row_parts;
  if (own.row_parts > 1) own.row_splits = RowSplits::kAny;
  if (models.device_gbps) own.exchange = PrecisionSet::all();
  const bool any_outputs = models.compute && models.compute->features.sees_batch_size();
  own.sequences = any_outputs;
  own.replicas = any_outputs && models.links.has_value();
  if (models.links) {
    own.trained_host_devices = static_cast<std::int32_t>(models.links->devices_per_host.value);
  }
  own.hot_rows = own.replicas && models.device_gbps.has_value();
  if (!models.comm) return own;
  const CommModels& comm = *models.comm;
  if (comm.architecture == CommArchitecture::kFixedDevices) own.only_devices = comm.devices;
  own.min_devices = comm.min_devices;
  own.max_devices = comm.max_devices;
  return own;
}

/// Of limits where 0 is none.
std::int32_t smaller_limit(std::int32_t a, std::int32_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

/// Where either knows any hosts, the other's.
std::int32_t host_devices_of_both(const Capabilities& a, const Capabilities& b) {
  if (a.hosts) return b.trained_host_devices;
  const bool one = b.hosts || a.trained_host_devices == b.trained_host_devices;
  return one ? a.trained_host_devices : 0;
}

/// What both know, of plans that are costed by both: none with tables in host memory, as which of
/// them go there is decided by one model's kernels.
Capabilities of_both(const Capabilities& a, const Capabilities& b) {
  Capabilities both;
  both.row_splits = std::min(a.row_splits, b.row_splits);
  both.row_parts = std::min(a.row_parts, b.row_parts);
  both.hosts = a.hosts && b.hosts;
  both.trained_host_devices = host_devices_of_both(a, b);
  both.replicas = a.replicas && b.replicas;
  both.hot_rows = a.hot_rows && b.hot_rows;
  both.sequences = a.sequences && b.sequences;
  both.exchange = a.exchange & b.exchange;
  both.even_samples = a.even_samples && b.even_samples;
  both.min_batch_size = std::max(a.min_batch_size, b.min_batch_size);
  both.max_batch_size = std::min(a.max_batch_size, b.max_batch_size);
  both.only_devices = std::max(a.only_devices, b.only_devices);
  both.min_devices = std::max(a.min_devices, b.min_devices);
  both.max_devices = smaller_limit(a.max_devices, b.max_devices);
  return both;
}

Capabilities of_one(const CostModels& models) {
  Capabilities own = models.torchrec ? of_formula(*models.torchrec) : of_networks(models);
  own.min_batch_size = models.min_batch_size > 0 ? models.min_batch_size : models.batch_size;
  own.max_batch_size = models.batch_size;
  return own;
}

}  // namespace

Capabilities capabilities(const CostModels& models) {
  if (models.worst_of.empty()) return of_one(models);
  Capabilities all = of_one(*models.worst_of.front().models);
  for (const ModelInWorst& one : models.worst_of) all = of_both(all, of_one(*one.models));
  return all;
}

std::int32_t block_host_devices(const Capabilities& known, const Cluster& cluster) {
  const std::int32_t each = host_devices(cluster);
  return known.hosts || each == known.trained_host_devices ? each : 0;
}

}  // namespace neuroshard
