#include "search/bounds/table_holdings.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace neuroshard::search {
namespace {

/// Makes costs of pieces costs of what a device holds, which may be several of them.
void put_together(ColumnCosts& costs) {
  const std::size_t size = costs.even.size();
  for (std::size_t k = 2; k < size; ++k) {
    for (std::size_t part = 1; part <= k / 2; ++part) {
      costs.even[k] = std::min(costs.even[k], costs.even[part] + costs.even[k - part]);
    }
  }
  for (std::size_t k = costs.ragged.size(); k-- > 0;) {
    for (std::size_t part = 1; part <= k; ++part) {
      costs.ragged[k] = std::min(costs.ragged[k], costs.even[part] + costs.ragged[k - part]);
    }
  }
}

}  // namespace

TableHoldings::TableHoldings(PieceCosts costs, double alike, const RowShapes& rows, double devices)
    : costs_(std::move(costs)), alike_(alike), devices_(devices), of_host_(std::max(1, rows.host)) {
  put_together(costs_.columns);
  put_together(costs_.on_host);
  add(costs_.columns, 1);
  add(costs_.on_host, of_host_);
  blocks_at_ = holdings_.size();
  for (const double cost : {costs_.block, costs_.replica}) {
    holdings_.push_back({cost, {1 / devices_, 0, 0}});
  }
  for (Holding& holding : holdings_) holding.counts[kCosts] = holding.cost;
  own_worth_ = costs_.columns;
  host_worth_ = costs_.on_host;
}

/// Columns of which so many devices have some rows each.
void TableHoldings::add(const ColumnCosts& costs, double of_devices) {
  if (costs.none()) return;
  const bool odd = !costs.ragged.empty();
  // Odd columns count as a whole grain: all that matters is that shares add up to 1 or more.
  const double grains = static_cast<double>(costs.grains()) + (odd ? 1 : 0);
  for (std::size_t k = 0; k < costs.even.size(); ++k) {
    holdings_.push_back({costs.even[k], {static_cast<double>(k) / grains / of_devices, 0, 0}});
  }
  for (std::size_t k = 0; k < costs.ragged.size(); ++k) {
    holdings_.push_back(
        {costs.ragged[k], {static_cast<double>(k + 1) / grains / of_devices, 0, 0}});
  }
}

double TableHoldings::worth(const Holding& holding, const double* prices) {
  double sum = 0;
  for (std::size_t row = 0; row < kTableRows; ++row) sum += prices[row] * holding.counts[row];
  return sum;
}

/// Of a function of holdings.
template <typename Worth>
double TableHoldings::least_of_divisions(Worth worth) {
  std::size_t at = 0;
  const auto fill = [&](ColumnCosts& into) {
    for (double& value : into.even) value = worth(holdings_[at++]);
    for (double& value : into.ragged) value = worth(holdings_[at++]);
  };
  fill(own_worth_);
  fill(host_worth_);
  double least = std::min(least_division(own_worth_, costs_.columns, most_, least_),
                          of_host_ * least_division(host_worth_, costs_.on_host, most_, least_));
  if (costs_.dearest <= most_) least = std::min(least, devices_ * worth(holdings_[at]));
  if (costs_.replica <= most_) least = std::min(least, devices_ * worth(holdings_[at + 1]));
  return least;
}

double TableHoldings::least_of(TableRow row) {
  return least_of_divisions([row](const Holding& holding) { return holding.counts[row]; });
}

double TableHoldings::least_worth(const double* prices) {
  return least_of_divisions([prices](const Holding& holding) { return worth(holding, prices); });
}

/// A table is in one piece or in two at least; where there is none for all of it, in `fewest`.
void TableHoldings::set_piece_counts(double fewest) {
  std::size_t at = 0;
  const auto fill = [&](const ColumnCosts& costs, double of_devices) {
    if (costs.none()) return;
    const std::size_t all = costs.even.size() + costs.ragged.size();
    for (std::size_t k = 0; k < all; ++k) {
      const bool whole = k + 1 == all && fewest == 1;
      holdings_[at++].counts[kPieces] = (whole ? 2 : 1) / of_devices;
    }
  };
  fill(costs_.columns, 1);
  fill(costs_.on_host, of_host_);
  needs_[kPieces] = std::max(2.0, fewest);
  for (; at < holdings_.size(); ++at) holdings_[at].counts[kPieces] = needs_[kPieces] / devices_;
}

void TableHoldings::limit(double most) {
  most_ = most;
  const auto one_each = [&](const ColumnCosts& costs) {
    ColumnCosts ones = costs;
    std::fill(ones.even.begin(), ones.even.end(), 1.0);
    std::fill(ones.ragged.begin(), ones.ragged.end(), 1.0);
    return least_division(ones, costs, most_, least_);
  };
  const double fewest = std::min(one_each(costs_.columns), one_each(costs_.on_host));
  set_piece_counts(std::isfinite(fewest) ? std::round(fewest) : 2);
  needs_[kCells] = 1;
  needs_[kCosts] = least_of(kCosts);
}

}  // namespace neuroshard::search
