#include "engine/cost_model/torchrec_formula.h"

#include <algorithm>
#include <cmath>

namespace neuroshard {
namespace {

constexpr double kBytesPerMs = 1024.0 * 1024.0 * 1024.0 / 1000.0;  // of 1 GB/s
constexpr double kIndexBytes = 8;
constexpr double kOutputBytes = 4;  // of the exchanges
constexpr double kBackwardFactor = 2;
constexpr double kGradientCopies = 2.455;  // of blocks of rows, of their outputs
constexpr double kDense = 0.5;             // of the bandwidth, of kernels that are not fused
constexpr double kOptimizerPasses = 9.22;  // over a dense table

/// Kernels are less efficient on narrow rows.
double narrow_penalty(std::int32_t dim) { return dim >= 128 ? 1 : dim >= 64 ? 1.15 : 1.75; }

}  // namespace

TorchRecFormula::TorchRecFormula(const TorchRecCosts& costs, std::int64_t batch_size,
                                 std::int32_t devices)
    : devices_(devices),
      host_devices_(neuroshard::host_devices(costs, devices)),
      samples_(static_cast<double>(batch_size / devices * devices)),
      device_bandwidth_(costs.device_gbps * kBytesPerMs) {
  const double output = samples_ * kOutputBytes;  // bytes of one column
  const double near = costs.intra_host_gbps * kBytesPerMs;
  const double far = costs.inter_host_gbps * kBytesPerMs;
  all_ms_per_dim_ = output / (host_devices_ == 0 ? near : far);
  on_host_ms_per_dim_ = output / near;
  hosts_ms_per_dim_ = host_devices_ == 0 ? 0 : output / host_devices_ / far;
  const double on_host = host_devices_ == 0 ? devices : host_devices_;
  const double hosts = std::min(devices / on_host, 2.0);
  const double again = devices > 2 * on_host ? 2 : 1;
  reduce_ms_per_byte_ = again * (2 * hosts - 1) / hosts / (far * on_host);
}

/// Indices and rows read and outputs written, forward; twice that, backward.
TorchRecShardCost TorchRecFormula::whole_rows(const Table& table, std::int32_t dim) const {
  const double lookups = table.pooling_factor * samples_;
  const double read = std::ceil(lookups * kIndexBytes);
  const double rows =
      lookups * std::max(dim, 32) * static_cast<double>(bytes_per_element(table.data_type));
  const double written = samples_ * dim * kOutputBytes;
  const double forward = (read + rows + written) * narrow_penalty(dim) / device_bandwidth_;
  const double exchange = all_ms_per_dim_ * dim;
  return {forward * (1 + kBackwardFactor), exchange, exchange};
}

/// A block has its share of the lookups, but the outputs of all samples, whose gradients are
/// copied. Narrow rows cost no more than wide ones here.
double TorchRecFormula::block_compute_ms(const Table& table, std::int32_t dim,
                                         std::int32_t blocks) const {
  const double lookups = table.pooling_factor * samples_ / blocks;
  const double read = std::ceil(lookups * kIndexBytes);
  const double rows = lookups * dim * static_cast<double>(bytes_per_element(table.data_type));
  const double written = samples_ * dim * kOutputBytes;
  const double forward = (read + rows + written) / device_bandwidth_;
  return forward * (1 + kBackwardFactor) + written * kGradientCopies / device_bandwidth_;
}

TorchRecShardCost TorchRecFormula::block_of_all(const Table& table) const {
  const double exchange = all_ms_per_dim_ * table.dim;
  return {block_compute_ms(table, table.dim, devices_), exchange, exchange};
}

/// Partial sums are reduced on the host, each device then has its samples' to send to the others.
TorchRecShardCost TorchRecFormula::block_of_host(const Table& table, std::int32_t dim) const {
  const double exchange = (on_host_ms_per_dim_ + hosts_ms_per_dim_) * dim;
  return {block_compute_ms(table, dim, host_devices_), exchange, exchange};
}

/// Lookups of a device's own samples, nothing to send forward; then all devices add up the gradient
/// of the whole table, which an optimizer of its own passes over.
TorchRecShardCost TorchRecFormula::replica(const Table& table) const {
  const auto element = static_cast<double>(bytes_per_element(table.data_type));
  const double bandwidth = kDense * device_bandwidth_;
  const double samples = samples_ / devices_;
  const double lookups = table.pooling_factor * samples;
  const double read = std::ceil(lookups * kIndexBytes);
  const double rows = lookups * table.dim * element;
  const double written = samples * table.dim * element;
  const double forward = (read + rows + written) / bandwidth;
  const double gradient = static_cast<double>(table.rows) * table.dim * element;
  return {forward * (1 + kBackwardFactor) + gradient * kOptimizerPasses / bandwidth, 0,
          gradient * reduce_ms_per_byte_};
}

}  // namespace neuroshard
