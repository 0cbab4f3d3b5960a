#pragma once

#include <cstdint>
#include <span>

#include "engine/core/exchange_format.h"

namespace neuroshard {

/// What networks that have learned exchanges in fp32 need to know of other formats: how many fp32
/// columns have as many bytes as one column in the format, and how long the codecs take, which read
/// and write each value once before and once after the exchange, at the rate at which a device
/// copies. What devices copy of an exchange is not coded, so that of such columns networks have
/// counted too little. Defaults are fp32: nothing changes.
struct ExchangeCosts {
  /// One way of the exchange.
  struct Way {
    double dims = 1;          ///< fp32 columns that are as many bytes as one
    double ms_per_value = 0;  ///< of a codec
    /// Of copies of outputs, beside those of that many fp32 columns.
    double copy_ms_per_value = 0;
    /// The same of partial sums, which are added up on their way, and so travel in 16 bits at
    /// least.
    double sum_dims = 1;
    double sum_ms_per_value = 0;
  };
  Way forward;
  Way backward;

  /// Of devices that copy at `device_gbps`, 10^9 bytes a second read and written, and compute
  /// outputs in `values`: what travels so needs no codec. `copies`: how often they copy what they
  /// exchange. REQUIRES device_gbps > 0, or an exact format.
  static ExchangeCosts of(const ExchangeFormat& format, double device_gbps,
                          Precision values = Precision::kFp32, double copies = 0);

  [[nodiscard]] bool has_codecs() const {
    return forward.ms_per_value > 0 || backward.ms_per_value > 0;
  }
  [[nodiscard]] bool has_copies() const {
    return forward.copy_ms_per_value > 0 || backward.copy_ms_per_value > 0;
  }
  [[nodiscard]] bool sums_differ() const {
    return forward.sum_dims != forward.dims || backward.sum_dims != backward.dims;
  }
};

/// Milliseconds that a codec takes on a device for what it owns, `dims` columns of the whole batch.
inline double codec_of_own_ms(const ExchangeCosts::Way& way, std::int64_t dims,
                              std::int64_t batch_size) {
  return way.ms_per_value * static_cast<double>(dims) * static_cast<double>(batch_size);
}

/// The same for what it keeps: all devices' columns of its own samples.
double codec_of_kept_ms(const ExchangeCosts::Way& way, std::span<const std::int64_t> dims,
                        std::int64_t batch_size);

}  // namespace neuroshard
