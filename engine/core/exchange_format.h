#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/status.h"

namespace neuroshard {

/// In which numbers the values of an exchange travel. On both sides of it they are fp32: a codec
/// makes the one of the other. As TorchRec's qcomms have them (fbgemm_qcomm_codec.py; FBGEMM's
/// quantize_comm.py).
enum class Precision {
  kFp32,
  kFp16,
  kBf16,
  kFp8,   ///< rows of 128 values, each with a scale
  kInt8,  ///< rows of 32 values, each with a scale and a bias
};

/// All of them, in the order of messages.
std::span<const Precision> all_precisions();

/// "fp32", "fp16", "bf16", "fp8", "int8": the words of the command and the file formats.
std::string_view to_string(Precision precision);
/// Errors: kInvalidInput with the words there are.
Result<Precision> parse_precision(std::string_view word);

/// Values of one row, which have a scale in common; 0: each stands for itself.
std::int32_t row_values(Precision precision);

/// Bytes that `values` values are when they travel: THE one place. 4, 2 and 2 each; in rows, one
/// each, rounded up to multiples of 4, and 8 a row. (A last row is counted by its share.)
double exchange_bytes(double values, Precision precision);

/// In what partial sums travel that a reduce-scatter adds up: rows with scales cannot be added, so
/// fp8 and int8 become fp16 on their way forward and bf16 (of gradients) backward.
Precision summed_forward(Precision precision);
Precision summed_backward(Precision precision);

/// In which numbers pooled embeddings go forward and their gradients come back.
struct ExchangeFormat {
  Precision forward = Precision::kFp32;
  Precision backward = Precision::kFp32;

  friend bool operator==(const ExchangeFormat&, const ExchangeFormat&) = default;
};

/// Whether all travels as it is computed.
inline bool is_exact(const ExchangeFormat& format) { return format == ExchangeFormat{}; }

/// Some of the precisions.
class PrecisionSet {
 public:
  explicit constexpr PrecisionSet(Precision only) : bits_(bit(only)) {}
  [[nodiscard]] static PrecisionSet all();
  [[nodiscard]] constexpr bool has(Precision precision) const {
    return (bits_ & bit(precision)) != 0;
  }
  /// Of both ways.
  [[nodiscard]] constexpr bool has(const ExchangeFormat& format) const {
    return has(format.forward) && has(format.backward);
  }

  friend bool operator==(const PrecisionSet&, const PrecisionSet&) = default;
  /// Those in both.
  friend constexpr PrecisionSet operator&(PrecisionSet a, const PrecisionSet& b) {
    a.bits_ &= b.bits_;
    return a;
  }

 private:
  static constexpr std::uint32_t bit(Precision precision) {
    return std::uint32_t{1} << static_cast<std::uint32_t>(precision);
  }
  std::uint32_t bits_;
};

/// All pairs of those, the exact one first.
std::vector<ExchangeFormat> exchange_formats_of(const PrecisionSet& known);

/// "fp16", or "int8,bf16" where the two differ: what parse_exchange_format() reads.
std::string to_string(const ExchangeFormat& format);
/// "FORWARD" or "FORWARD,BACKWARD". Errors: kInvalidInput with the words there are.
Result<ExchangeFormat> parse_exchange_format(std::string_view text);

}  // namespace neuroshard
