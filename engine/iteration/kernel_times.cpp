#include "engine/iteration/kernel_times.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace neuroshard {
namespace {

constexpr double kTile = 128;        // results along each side of a tile, as cuBLAS's usual kernels
constexpr double kLeastInner = 512;  // of a part of a product that is divided along it
constexpr double kMostParts = 256;   // two waves and more of any GPU's multiprocessors

bool is_said(const SourcedValue& value) { return !value.source.empty(); }

/// The share of the multiprocessors' time that computes results somebody asked for, divided along
/// the product as fills them best, into parts that count as kLeastInner at least: larger products
/// never take less time.
double filled_share(double multiprocessors, double rows, double columns, double inner) {
  inner = std::max(1.0, inner);
  const double tiles = std::ceil(rows / kTile) * std::ceil(columns / kTile);
  const double asked = rows * columns / (tiles * kTile * kTile);
  const double most_parts = std::min(std::ceil(inner / kLeastInner), kMostParts);
  double best = 0;
  for (double parts = 1; parts <= most_parts; ++parts) {
    const double waves = std::ceil(tiles * parts / multiprocessors);
    const double of_part = parts == 1 ? inner : std::max(kLeastInner, inner / parts);
    best = std::max(best, tiles * inner / (waves * multiprocessors * of_part));
  }
  return best * asked;
}

double move_ms(const KernelRates& rates, double values) {
  const double bytes = values * rates.value_bytes;
  return bytes / (bytes <= rates.l2_bytes ? rates.l2_bytes_per_ms : rates.dram_bytes_per_ms);
}

}  // namespace

Result<KernelRates> kernel_rates(const HardwareProfile& profile, DensePrecision precision) {
  const bool half = precision == DensePrecision::kFp16 || precision == DensePrecision::kBf16;
  const bool tf32 = precision == DensePrecision::kTf32 && is_said(profile.tf32_tflops);
  const SourcedValue& tflops = half   ? profile.fp16_tflops
                               : tf32 ? profile.tf32_tflops
                                      : profile.fp32_tflops;
  for (const SourcedValue* value :
       {&tflops, &profile.gemm_share, &profile.elementwise_share, &profile.host_gbps}) {
    if (is_said(*value)) continue;
    return invalid_input("profile " + profile.name + " says nothing of dense layers in " +
                         std::string(to_string(precision)) +
                         ", expected fp16_tflops, tf32_tflops or fp32_tflops, gemm_share, "
                         "elementwise_share and host_gbps");
  }
  KernelRates rates;
  rates.flops_per_ms = tflops.value * 1e9 * profile.gemm_share.value;
  rates.multiprocessors = profile.multiprocessors.value;
  rates.dram_bytes_per_ms = profile.dram_gbps.value * 1e6 * profile.elementwise_share.value;
  rates.l2_bytes_per_ms = std::max(rates.dram_bytes_per_ms, profile.l2_gbps.value * 1e6);
  rates.l2_bytes = profile.l2_mib.value * 0x1p20 * profile.l2_usable_share.value;
  rates.launch_ms = profile.launch_us.value * 1e-3;
  rates.value_bytes = bytes_of(precision);
  return rates;
}

double gemm_ms(const KernelRates& rates, double rows, double columns, double inner) {
  if (rows * columns == 0) return 0;  // nothing to compute: no kernel is launched
  const double share = filled_share(rates.multiprocessors, rows, columns, inner);
  const double compute = 2 * rows * columns * inner / (rates.flops_per_ms * share);
  const double move = move_ms(rates, rows * inner + inner * columns + rows * columns);
  return std::max(compute, move) + rates.launch_ms;
}

double pass_ms(const KernelRates& rates, double values) {
  return move_ms(rates, values) + rates.launch_ms;
}

}  // namespace neuroshard
