#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/core/exchange_format.h"

namespace neuroshard::io {

/// An all-to-all of floating point in a rank's trace: values to each rank and from each; empty
/// where the trace does not say them.
struct TracedExchange {
  Precision precision{};
  std::vector<std::int64_t> sent{};
  std::vector<std::int64_t> received{};
};

/// What the exchanges of one step and direction are together.
struct ExchangeHalf {
  std::optional<Precision> precision{};  ///< nothing where they differ
  std::vector<std::int64_t> bytes{};     ///< to each rank; empty where one of them does not say it
};

struct ExchangeHalves {
  ExchangeHalf forward{};
  ExchangeHalf backward{};
};

/// Of a step's exchanges in the order of their start: TorchRec has one for each kind of sharding,
/// first those of outputs, then as many of gradients. Nothing where that cannot be: none or an odd
/// number of them, or other values that come back than were sent.
std::optional<ExchangeHalves> exchange_halves(std::span<const TracedExchange> exchanges);

}  // namespace neuroshard::io
