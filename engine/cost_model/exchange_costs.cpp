#include "engine/cost_model/exchange_costs.h"

#include <numeric>

namespace neuroshard {
namespace {

constexpr double kMsPerByte = 1e-6;  // at 1 GB/s

struct Coded {
  double dims;
  double ms_per_value;
  double copy_ms_per_value;
};

/// Where outputs are computed, and copied.
struct Device {
  Precision values;
  double gbps;
  double copies;
};

/// The exact format is that of the values.
Coded coded_as(Precision precision, const Device& device) {
  const double learned = exchange_bytes(1, Precision::kFp32);
  const double plain = exchange_bytes(1, device.values);
  if (precision == Precision::kFp32 || precision == device.values) return {plain / learned, 0, 0};
  const double coded = exchange_bytes(1, precision);
  const double copied = 2 * device.copies * (plain - coded);  // read and written
  return {coded / learned, (plain + coded) / device.gbps * kMsPerByte,
          copied / device.gbps * kMsPerByte};
}

ExchangeCosts::Way way_of(Precision outputs, Precision sums, const Device& device) {
  const Coded own = coded_as(outputs, device);
  const Coded of_sums = coded_as(sums, device);
  return {own.dims, own.ms_per_value, own.copy_ms_per_value, of_sums.dims, of_sums.ms_per_value};
}

}  // namespace

ExchangeCosts ExchangeCosts::of(const ExchangeFormat& format, double device_gbps, Precision values,
                                double copies) {
  const Device device{values, device_gbps, copies};
  return {way_of(format.forward, summed_forward(format.forward), device),
          way_of(format.backward, summed_backward(format.backward), device)};
}

double codec_of_kept_ms(const ExchangeCosts::Way& way, std::span<const std::int64_t> dims,
                        std::int64_t batch_size) {
  const std::int64_t all = std::accumulate(dims.begin(), dims.end(), std::int64_t{0});
  return codec_of_own_ms(way, all, batch_size) / static_cast<double>(dims.size());
}

}  // namespace neuroshard
