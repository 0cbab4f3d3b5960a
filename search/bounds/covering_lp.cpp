#include "search/bounds/covering_lp.h"

#include <algorithm>

namespace neuroshard::search {
namespace {

constexpr double kColumnGain = 1e-9;  // of a column, for it to enter
constexpr double kPivot = 1e-9;       // the least that is divided by

}  // namespace

CoveringLp::CoveringLp(std::vector<double> needs, std::vector<double> alone)
    : needs_(std::move(needs)), alone_(std::move(alone)) {
  const std::size_t rows = needs_.size();
  is_basic_.assign(2 * rows, 0);
  inverse_.assign(rows * rows, 0);
  levels_.assign(rows, 1);
  // Row r alone covers all of its need, a little more in each row than in the one before, so that
  // ties are few.
  for (std::size_t r = 0; r < rows; ++r) {
    needs_[r] *= 1 + 1e-9 * static_cast<double>(r);
    basis_.push_back(static_cast<int>(r));
    is_basic_[r] = 1;
    inverse_[r * rows + r] = 1 / needs_[r];
  }
  set_prices();
}

void CoveringLp::add(Column column) {
  patterns_.push_back(std::move(column));
  is_basic_.push_back(0);
}

double CoveringLp::cost_of(int column) const {
  const auto at = static_cast<std::size_t>(column);
  if (at < rows()) return alone_[at];
  return at < 2 * rows() ? 0 : 1;
}

void CoveringLp::load(int column, std::vector<double>& into) const {
  into.assign(rows(), 0);
  const auto at = static_cast<std::size_t>(column);
  if (at < rows()) {
    into[at] = needs_[at];
  } else if (at < 2 * rows()) {
    into[at - rows()] = -1;
  } else {
    for (const auto& [row, value] : patterns_[at - 2 * rows()]) {
      into[static_cast<std::size_t>(row)] += value;
    }
  }
}

void CoveringLp::set_prices() {
  raw_prices_.assign(rows(), 0);
  value_ = 0;
  for (std::size_t k = 0; k < rows(); ++k) {
    const double cost = cost_of(basis_[k]);
    value_ += cost * levels_[k];
    if (cost == 0) continue;
    const double* row = &inverse_[k * rows()];
    for (std::size_t r = 0; r < rows(); ++r) raw_prices_[r] += cost * row[r];
  }
  prices_ = raw_prices_;
  for (double& price : prices_) price = std::max(price, 0.0);
}

/// The one that gains most for each unit of it, -1 for none.
int CoveringLp::column_to_enter() const {
  int best = -1;
  double most = kColumnGain;
  for (std::size_t r = 0; r < rows(); ++r) {
    const double gain = -raw_prices_[r] * needs_[r];
    if (gain <= most || is_basic_[rows() + r]) continue;
    most = gain;
    best = static_cast<int>(rows() + r);
  }
  for (std::size_t p = 0; p < patterns_.size(); ++p) {
    if (is_basic_[2 * rows() + p]) continue;
    double gain = -1;
    for (const auto& [row, value] : patterns_[p]) {
      gain += raw_prices_[static_cast<std::size_t>(row)] * value;
    }
    if (gain <= most) continue;
    most = gain;
    best = static_cast<int>(2 * rows() + p);
  }
  return best;
}

/// False where nothing bounds the column, which only rounding can bring about.
bool CoveringLp::enter(int column) {
  load(column, entering_);
  change_.assign(rows(), 0);
  std::size_t leaving = rows();
  double least = 0;
  for (std::size_t k = 0; k < rows(); ++k) {
    const double* row = &inverse_[k * rows()];
    double sum = 0;
    for (std::size_t r = 0; r < rows(); ++r) sum += row[r] * entering_[r];
    change_[k] = sum;
    if (sum <= kPivot) continue;
    const double ratio = std::max(0.0, levels_[k]) / sum;
    if (leaving == rows() || ratio < least || (ratio == least && change_[k] > change_[leaving])) {
      leaving = k;
      least = ratio;
    }
  }
  if (leaving == rows()) return false;
  double* pivot_row = &inverse_[leaving * rows()];
  const double pivot = change_[leaving];
  for (std::size_t r = 0; r < rows(); ++r) pivot_row[r] /= pivot;
  for (std::size_t k = 0; k < rows(); ++k) {
    if (k == leaving || change_[k] == 0) continue;
    double* row = &inverse_[k * rows()];
    for (std::size_t r = 0; r < rows(); ++r) row[r] -= change_[k] * pivot_row[r];
    levels_[k] -= change_[k] * least;
  }
  levels_[leaving] = least;
  is_basic_[static_cast<std::size_t>(basis_[leaving])] = 0;
  is_basic_[static_cast<std::size_t>(column)] = 1;
  basis_[leaving] = column;
  return true;
}

void CoveringLp::solve() {
  const auto size = static_cast<double>(rows());
  for (std::size_t steps = 0; steps < 20 + 4 * rows(); ++steps) {
    const int column = column_to_enter();
    work_ += 4 * static_cast<double>(patterns_.size());
    if (column < 0 || !enter(column)) break;
    set_prices();
    work_ += 3 * size * size;
  }
}

bool CoveringLp::covered() const {
  for (std::size_t k = 0; k < rows(); ++k) {
    if (static_cast<std::size_t>(basis_[k]) < rows() && levels_[k] > 1e-9) return false;
  }
  return true;
}

}  // namespace neuroshard::search
