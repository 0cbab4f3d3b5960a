#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/policy/policy_pieces.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// Pieces shared out over devices so that costs that are linear in the shares are least, but for an
/// entropy that makes the shares smooth functions of the costs: device d has the share
///
///   x[p, d] = softmax over d of -(cost[p, d] + price[d] * memory share of p) / temperature
///
/// of piece p, 0 where the piece may not be. Prices are 0 or more, and as high as it takes for no
/// device to have more bytes than its memory. They are found by accelerated dual ascent (Nesterov),
/// which needs no linear program. Costs and prices have no unit. Not thread-safe; the pieces must
/// outlive it.
class RelaxedAssignment {
 public:
  RelaxedAssignment(std::span<const PolicyPiece> pieces, std::int32_t devices,
                    std::int64_t memory_bytes, double temperature);

  /// Finds the shares under these costs, [pieces, devices], from the last prices on. Memory is kept
  /// to kMemoryTolerance, where shares can and it does not take too many steps. False when `stop`
  /// says so before that.
  bool solve(std::span<const double> costs, const StopCheck& stop);
  /// Of its memory, by which a device may have more.
  static constexpr double kMemoryTolerance = 1e-3;

  [[nodiscard]] std::span<const double> shares() const { return shares_; }  ///< [pieces, devices]
  [[nodiscard]] std::span<const double> prices() const { return prices_; }  ///< [devices]
  /// The allowed device with the largest share of the piece, of equals the lowest; -1: none is.
  [[nodiscard]] std::int32_t preferred(std::size_t piece,
                                       std::span<const unsigned char> allowed) const;

  /// gradient[p, d] = derivative by cost[p, d] of something whose derivatives by the shares are
  /// `slopes`, prices held as they are.
  void pull_back(std::span<const double> slopes, std::span<double> gradient) const;

 private:
  void share_out(std::span<const double> costs);
  void share_out(std::size_t piece, const double* costs, double* shares);
  [[nodiscard]] double ascended(std::size_t device) const;
  [[nodiscard]] bool settled() const;
  void raise_prices();

  std::span<const PolicyPiece> pieces_;
  std::size_t devices_;
  double temperature_;
  std::vector<double> memory_shares_;  // [pieces], of a device's memory
  double momentum_ = 1;                // Nesterov's t
  std::vector<double> shares_;         // [pieces, devices]
  std::vector<double> used_;           // [devices], of its memory
  std::vector<double> bend_;           // [devices], bound of how fast that falls with its price
  std::vector<double> prices_;         // [devices]
  std::vector<double> ascended_;       // [devices], prices before the last look ahead
};

}  // namespace neuroshard::search
