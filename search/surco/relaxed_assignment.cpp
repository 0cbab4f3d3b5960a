#include "search/surco/relaxed_assignment.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace neuroshard::search {
namespace {

// 70 random tasks of 20 to 1,000 pieces on 4 to 128 devices, memory 60 to 98 % full, took 23 at
// most, and 212 with steps that are no longer than anywhere along the dual.
constexpr int kMostSteps = 100;

}  // namespace

RelaxedAssignment::RelaxedAssignment(std::span<const PolicyPiece> pieces, std::int32_t devices,
                                     std::int64_t memory_bytes, double temperature)
    : pieces_(pieces),
      devices_(static_cast<std::size_t>(devices)),
      temperature_(temperature),
      shares_(pieces.size() * devices_),
      used_(devices_),
      bend_(devices_),
      prices_(devices_),
      ascended_(devices_) {
  for (const PolicyPiece& piece : pieces) {
    memory_shares_.push_back(static_cast<double>(piece.bytes) / static_cast<double>(memory_bytes));
  }
}

void RelaxedAssignment::share_out(std::size_t piece, const double* costs, double* shares) {
  const double own = memory_shares_[piece];
  const DeviceSet* const only_on = pieces_[piece].only_on;
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double least = kNever;
  for (std::size_t d = 0; d < devices_; ++d) {
    const bool may = may_be_on(only_on, static_cast<std::int32_t>(d));
    shares[d] = may ? costs[d] + prices_[d] * own : kNever;
    least = std::min(least, shares[d]);
  }
  double sum = 0;
  for (std::size_t d = 0; d < devices_; ++d) {
    shares[d] = std::exp((least - shares[d]) / temperature_);
    sum += shares[d];
  }
  for (std::size_t d = 0; d < devices_; ++d) {
    shares[d] /= sum;
    used_[d] += own * shares[d];
    bend_[d] += own * own * shares[d] / temperature_;
  }
}

void RelaxedAssignment::share_out(std::span<const double> costs) {
  std::fill(used_.begin(), used_.end(), 0.0);
  std::fill(bend_.begin(), bend_.end(), 0.0);
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    share_out(p, costs.data() + p * devices_, shares_.data() + p * devices_);
  }
}

/// Whether no device has too much, and none has a price for memory that it has left.
bool RelaxedAssignment::settled() const {
  for (std::size_t d = 0; d < devices_; ++d) {
    if (used_[d] > 1 + kMemoryTolerance) return false;
    if (prices_[d] > 0 && used_[d] < 1 - kMemoryTolerance) return false;
  }
  return true;
}

/// A device's price after a step up the dual, which bends no more than that around here: the
/// derivatives of a softmax are less than its values on the diagonal.
double RelaxedAssignment::ascended(std::size_t device) const {
  const double too_much = used_[device] - 1;
  return bend_[device] > 0 ? std::max(0.0, prices_[device] + too_much / bend_[device]) : 0;
}

/// Such a step and a look ahead; where that turned out to lead down, no look ahead.
void RelaxedAssignment::raise_prices() {
  double along = 0;
  for (std::size_t d = 0; d < devices_; ++d) {
    along += (used_[d] - 1) * (ascended(d) - ascended_[d]);
  }
  const double before = along < 0 ? 1 : momentum_;
  momentum_ = (1 + std::sqrt(1 + 4 * before * before)) / 2;
  const double ahead = along < 0 ? 0 : (before - 1) / momentum_;
  for (std::size_t d = 0; d < devices_; ++d) {
    const double next = ascended(d);
    prices_[d] = std::max(0.0, next + ahead * (next - ascended_[d]));
    ascended_[d] = next;
  }
}

bool RelaxedAssignment::solve(std::span<const double> costs, const StopCheck& stop) {
  momentum_ = 1;
  ascended_ = prices_;
  share_out(costs);
  for (int k = 0; k < kMostSteps && !settled(); ++k) {
    if (stop.stop()) return false;
    raise_prices();
    share_out(costs);
  }
  return true;
}

std::int32_t RelaxedAssignment::preferred(std::size_t piece,
                                          std::span<const unsigned char> allowed) const {
  const double* const shares = shares_.data() + piece * devices_;
  std::int32_t best = -1;
  for (std::size_t d = 0; d < devices_; ++d) {
    if (allowed[d] == 0) continue;
    if (best >= 0 && shares[d] <= shares[static_cast<std::size_t>(best)]) continue;
    best = static_cast<std::int32_t>(d);
  }
  return best;
}

void RelaxedAssignment::pull_back(std::span<const double> slopes,
                                  std::span<double> gradient) const {
  for (std::size_t first = 0; first < shares_.size(); first += devices_) {
    double mean = 0;
    for (std::size_t k = first; k < first + devices_; ++k) mean += shares_[k] * slopes[k];
    for (std::size_t k = first; k < first + devices_; ++k) {
      gradient[k] = shares_[k] * (mean - slopes[k]) / temperature_;
    }
  }
}

}  // namespace neuroshard::search
