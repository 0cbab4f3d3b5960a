#include "engine/cost_model/torchrec_formula.h"

#include <algorithm>
#include <cmath>

namespace neuroshard {
namespace {

constexpr double kIndexBytes = 8;
constexpr double kBackwardFactor = 2;
constexpr double kWeightGradients = 1.1;   // of the forward pass, of lookups with weights
constexpr double kGradientCopies = 2.455;  // of blocks of rows, of their outputs
constexpr double kDense = 0.5;             // of the bandwidth, of kernels that are not fused
constexpr double kOptimizerPasses = 9.22;  // over a dense table

/// Kernels are less efficient on narrow rows.
double narrow_penalty(std::int32_t dim) { return dim >= 128 ? 1 : dim >= 64 ? 1.15 : 1.75; }

double element_bytes(const Table& table) {
  return static_cast<double>(bytes_as_planned(table.data_type));
}

/// Bytes of the indices of so many lookups, and of their weights.
double index_bytes(const Table& table, double lookups) {
  return std::ceil(lookups * kIndexBytes) * (table.weighted ? 2 : 1);
}

/// Times the forward pass.
double both_passes(const Table& table) {
  return 1 + kBackwardFactor + (table.weighted ? kWeightGradients : 0);
}

/// Bytes of one number as it travels; of rows with scales TorchRec counts the numbers alone.
double element_bytes(Precision precision) {
  if (row_values(precision) > 0) return 1;
  return exchange_bytes(1, precision);
}

/// Bytes of an output. TorchRec makes codecs unless both directions are fp32: without any, outputs
/// travel as the tables are.
double all_to_all_bytes(const Table& table, const ExchangeFormat& format, Precision way) {
  return is_exact(format) ? element_bytes(table) : element_bytes(way);
}

/// Of partial sums, where TorchRec takes `instead` for fp8 alone (get_qcomm_codecs_registry()).
double summed_bytes(const Table& table, const ExchangeFormat& format, Precision way,
                    Precision instead) {
  return all_to_all_bytes(table, format, way == Precision::kFp8 ? instead : way);
}

}  // namespace

TorchRecFormula::TorchRecFormula(const TorchRecCosts& costs, std::int64_t batch_size,
                                 std::int32_t devices)
    : devices_(devices),
      host_devices_(neuroshard::host_devices(costs, devices)),
      release_(costs.release),
      format_(costs.exchange),
      samples_(static_cast<double>(batch_size / devices * devices)),
      device_bandwidth_(bytes_per_ms(costs.device_gbps)) {
  const double near = bytes_per_ms(costs.intra_host_gbps);
  const double far = bytes_per_ms(costs.inter_host_gbps);
  all_ms_per_byte_ = 1 / (host_devices_ == 0 ? near : far);
  between_ms_per_byte_ = host_devices_ == 0 ? 0 : 1 / (host_devices_ * far);
  by_host_ms_per_byte_ = 1 / near + between_ms_per_byte_;
  const double on_host = host_devices_ == 0 ? devices : host_devices_;
  const double hosts = std::min(devices / on_host, 2.0);
  const double again = devices > 2 * on_host ? 2 : 1;
  reduce_ms_per_byte_ = again * (2 * hosts - 1) / hosts / (far * on_host);
}

TorchRecShardCost TorchRecFormula::shard(const Table& table, const ShardShape& shape,
                                         double bandwidth) const {
  if (shape.replicated) return replica(table);
  if (shape.rows == table.rows) return whole_rows(table, shape.dim, bandwidth);
  const bool of_host = shape.row_blocks > 0 && shape.row_blocks == host_devices_;
  return of_host ? block_of_host(table, shape.dim, bandwidth) : block_of_all(table, bandwidth);
}

/// Of `dim` columns: an output for each sample and feature or, of rows that are not pooled, for
/// each lookup.
double TorchRecFormula::output_values(const Table& table, std::int32_t dim, double samples,
                                      double lookups) const {
  if (!table.pooled) return lookups * dim;
  const double a_feature = table.pooling_factor / table.features;
  const bool fewer = release_ == TorchRecRelease::k1_9 && a_feature < 1;
  return samples * table.features * (fewer ? a_feature : 1) * dim;
}

TorchRecFormula::Bytes TorchRecFormula::sent(const Table& table) const {
  return {all_to_all_bytes(table, format_, format_.forward),
          all_to_all_bytes(table, format_, format_.backward)};
}

/// Rows that are not pooled are not added up.
TorchRecFormula::Bytes TorchRecFormula::summed(const Table& table) const {
  if (!table.pooled) return sent(table);
  return {summed_bytes(table, format_, format_.forward, summed_forward(Precision::kFp8)),
          summed_bytes(table, format_, format_.backward, summed_backward(Precision::kFp8))};
}

/// Indices and rows read and outputs written, forward; twice that, backward.
TorchRecShardCost TorchRecFormula::whole_rows(const Table& table, std::int32_t dim,
                                              double bandwidth) const {
  const double lookups = table.pooling_factor * samples_;
  const double rows = lookups * std::max(dim, 32) * element_bytes(table);
  const double values = output_values(table, dim, samples_, lookups);
  const Bytes each = sent(table);
  const double bytes = index_bytes(table, lookups) + rows + values * each.forward;
  const double forward = bytes * narrow_penalty(dim) / bandwidth;
  return {forward * both_passes(table), all_ms_per_byte_ * (values * each.forward),
          all_ms_per_byte_ * (values * each.backward)};
}

/// A block has its share of the lookups, but partial sums of all samples, whose gradients are
/// copied, which TorchRec has the table's kernel do. Narrow rows cost no more than wide ones here.
TorchRecShardCost TorchRecFormula::block(const Table& table, std::int32_t dim, std::int32_t blocks,
                                         const BlockExchange& exchange, double bandwidth) const {
  const double lookups = table.pooling_factor * samples_ / blocks;
  const double rows = lookups * dim * element_bytes(table);
  const double values = output_values(table, dim, samples_, lookups);
  const double written = values * exchange.summed.forward;
  const double returned = values * exchange.summed.backward;
  const double forward = (index_bytes(table, lookups) + rows + written) / bandwidth;
  // As if all went in the format of sums, and what goes on to other hosts in its own.
  const auto ms = [&](double bytes, double summed, double sent) {
    return exchange.ms_per_byte * bytes + exchange.more_ms_per_byte * values * (sent - summed);
  };
  return {forward * both_passes(table) + returned * kGradientCopies / bandwidth,
          ms(written, exchange.summed.forward, exchange.sent.forward),
          ms(returned, exchange.summed.backward, exchange.sent.backward)};
}

TorchRecShardCost TorchRecFormula::block_of_all(const Table& table, double bandwidth) const {
  const Bytes each = summed(table);
  return block(table, table.dim, devices_, {all_ms_per_byte_, 0, each, each}, bandwidth);
}

/// Partial sums are reduced on the host, each device then has its samples' to send to the others.
TorchRecShardCost TorchRecFormula::block_of_host(const Table& table, std::int32_t dim,
                                                 double bandwidth) const {
  // Of rows that are not pooled TorchRec knows no codec here.
  const double plain = element_bytes(table);
  const Bytes on_host = table.pooled ? summed(table) : Bytes{plain, plain};
  return block(table, dim, host_devices_,
               {by_host_ms_per_byte_, between_ms_per_byte_, on_host, sent(table)}, bandwidth);
}

/// Lookups of a device's own samples, nothing to send forward; then all devices add up the gradient
/// of the whole table, which an optimizer of its own passes over.
TorchRecShardCost TorchRecFormula::replica(const Table& table) const {
  const double bandwidth = kDense * device_bandwidth_;
  const double lookups = table.pooling_factor * samples_ / devices_;
  const double rows = lookups * table.dim * element_bytes(table);
  const double written =
      output_values(table, table.dim, samples_ / devices_, lookups) * element_bytes(table);
  const double forward = (index_bytes(table, lookups) + rows + written) / bandwidth;
  const double gradient = static_cast<double>(table.rows) * table.dim * element_bytes(table);
  return {forward * both_passes(table) + gradient * kOptimizerPasses / bandwidth, 0,
          gradient * reduce_ms_per_byte_};
}

}  // namespace neuroshard
