#include "engine/cost_model/capabilities.h"

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

}  // namespace

Capabilities capabilities(const CostModels& models) {
  Capabilities own = models.torchrec ? of_formula(*models.torchrec) : of_networks(models);
  own.min_batch_size = models.min_batch_size > 0 ? models.min_batch_size : models.batch_size;
  own.max_batch_size = models.batch_size;
  return own;
}

std::int32_t block_host_devices(const Capabilities& known, const Cluster& cluster) {
  const std::int32_t each = host_devices(cluster);
  return known.hosts || each == known.trained_host_devices ? each : 0;
}

}  // namespace neuroshard
