#include "engine/cost_model/exchange_costs.h"

#include <numeric>

namespace neuroshard {
namespace {

constexpr double kMsPerByte = 1e-6;  // at 1 GB/s

struct Coded {
  double dims;
  double ms_per_value;
};

/// The exact format is that of the values.
Coded coded_as(Precision precision, Precision values, double device_gbps) {
  const double learned = exchange_bytes(1, Precision::kFp32);
  const double plain = exchange_bytes(1, values);
  if (precision == Precision::kFp32 || precision == values) return {plain / learned, 0};
  const double coded = exchange_bytes(1, precision);
  return {coded / learned, (plain + coded) / device_gbps * kMsPerByte};
}

ExchangeCosts::Way way_of(Precision outputs, Precision sums, Precision values, double device_gbps) {
  const Coded own = coded_as(outputs, values, device_gbps);
  const Coded of_sums = coded_as(sums, values, device_gbps);
  return {own.dims, own.ms_per_value, of_sums.dims, of_sums.ms_per_value};
}

}  // namespace

ExchangeCosts ExchangeCosts::of(const ExchangeFormat& format, double device_gbps,
                                Precision values) {
  return {way_of(format.forward, summed_forward(format.forward), values, device_gbps),
          way_of(format.backward, summed_backward(format.backward), values, device_gbps)};
}

double codec_of_kept_ms(const ExchangeCosts::Way& way, std::span<const std::int64_t> dims,
                        std::int64_t batch_size) {
  const std::int64_t all = std::accumulate(dims.begin(), dims.end(), std::int64_t{0});
  return codec_of_own_ms(way, all, batch_size) / static_cast<double>(dims.size());
}

}  // namespace neuroshard
