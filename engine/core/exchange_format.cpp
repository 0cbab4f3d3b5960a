#include "engine/core/exchange_format.h"

#include <array>

#include "engine/core/quoted_choices.h"

namespace neuroshard {
namespace {

constexpr std::array kAllPrecisions{Precision::kFp32, Precision::kFp16, Precision::kBf16,
                                    Precision::kFp8, Precision::kInt8};
constexpr double kScaleBytes = 8;  // two fp32 numbers a row

}  // namespace

std::span<const Precision> all_precisions() { return kAllPrecisions; }

std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::kFp16:
      return "fp16";
    case Precision::kBf16:
      return "bf16";
    case Precision::kFp8:
      return "fp8";
    case Precision::kInt8:
      return "int8";
    default:
      return "fp32";
  }
}

Result<Precision> parse_precision(std::string_view word) {
  for (const Precision precision : kAllPrecisions) {
    if (word == to_string(precision)) return precision;
  }
  return invalid_input("found '" + std::string(word) + "', expected " +
                       quoted_choices(all_precisions()));
}

std::int32_t row_values(Precision precision) {
  switch (precision) {
    case Precision::kFp8:
      return 128;
    case Precision::kInt8:
      return 32;
    default:
      return 0;
  }
}

double exchange_bytes(double values, Precision precision) {
  const std::int32_t row = row_values(precision);
  if (row > 0) return values * ((row + 3) / 4 * 4 + kScaleBytes) / row;
  return values * (precision == Precision::kFp32 ? 4 : 2);
}

Precision summed_forward(Precision precision) {
  return row_values(precision) > 0 ? Precision::kFp16 : precision;
}

Precision summed_backward(Precision precision) {
  return row_values(precision) > 0 ? Precision::kBf16 : precision;
}

PrecisionSet PrecisionSet::all() {
  PrecisionSet set(Precision::kFp32);
  for (const Precision precision : kAllPrecisions) set.bits_ |= bit(precision);
  return set;
}

std::vector<ExchangeFormat> exchange_formats_of(const PrecisionSet& known) {
  std::vector<ExchangeFormat> formats;
  for (const Precision forward : kAllPrecisions) {
    for (const Precision backward : kAllPrecisions) {
      if (known.has({forward, backward})) formats.push_back({forward, backward});
    }
  }
  return formats;
}

std::string to_string(const ExchangeFormat& format) {
  const std::string forward(to_string(format.forward));
  if (format.forward == format.backward) return forward;
  return forward + "," + std::string(to_string(format.backward));
}

Result<ExchangeFormat> parse_exchange_format(std::string_view text) {
  const std::size_t comma = text.find(',');
  NEUROSHARD_ASSIGN_OR_RETURN(const Precision forward, parse_precision(text.substr(0, comma)));
  if (comma == std::string_view::npos) return ExchangeFormat{forward, forward};
  NEUROSHARD_ASSIGN_OR_RETURN(const Precision backward, parse_precision(text.substr(comma + 1)));
  return ExchangeFormat{forward, backward};
}

}  // namespace neuroshard
