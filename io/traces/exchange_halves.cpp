#include "io/traces/exchange_halves.h"

#include <algorithm>
#include <cstddef>
#include <functional>

namespace neuroshard::io {
namespace {

using Values = std::vector<std::int64_t>;

/// Of all exchanges, by rank; empty where one of them does not say it, or for other ranks.
Values sum_of(std::span<const TracedExchange> exchanges, Values TracedExchange::*values) {
  Values sum = exchanges.front().*values;
  for (const TracedExchange& one : exchanges.subspan(1)) {
    const Values& own = one.*values;
    if (own.size() != sum.size()) return {};
    std::transform(own.begin(), own.end(), sum.begin(), sum.begin(), std::plus<>());
  }
  return sum;
}

/// `sent` is what they send together.
ExchangeHalf half_of(std::span<const TracedExchange> exchanges, const Values& sent) {
  ExchangeHalf half;
  const Precision first = exchanges.front().precision;
  const bool same = std::all_of(exchanges.begin(), exchanges.end(),
                                [&](const auto& one) { return one.precision == first; });
  if (same) half.precision = first;
  half.bytes.resize(sent.size());
  if (half.bytes.empty()) return half;
  for (const TracedExchange& one : exchanges) {
    for (std::size_t rank = 0; rank < one.sent.size(); ++rank) {
      half.bytes[rank] += static_cast<std::int64_t>(
          exchange_bytes(static_cast<double>(one.sent[rank]), one.precision));
    }
  }
  return half;
}

}  // namespace

std::optional<ExchangeHalves> exchange_halves(std::span<const TracedExchange> exchanges) {
  if (exchanges.empty() || exchanges.size() % 2 != 0) return std::nullopt;
  const auto outputs = exchanges.first(exchanges.size() / 2);
  const auto gradients = exchanges.last(exchanges.size() / 2);
  const Values sent = sum_of(outputs, &TracedExchange::sent);
  const Values back = sum_of(gradients, &TracedExchange::received);
  if (!sent.empty() && !back.empty() && sent != back) return std::nullopt;
  return ExchangeHalves{half_of(outputs, sent),
                        half_of(gradients, sum_of(gradients, &TracedExchange::sent))};
}

}  // namespace neuroshard::io
