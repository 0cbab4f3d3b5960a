#include "engine/planner/offload/kernel_neighbours.h"

#include <algorithm>
#include <span>

namespace neuroshard {
namespace {

constexpr std::uint64_t kMostTables = 3;
constexpr std::uint64_t kTurnsOfRows = 8;  // one in so many choices is of other divisions

}  // namespace

KernelNeighbours::KernelNeighbours(const KernelCosts& costs, std::uint64_t seed)
    : costs_(costs), rng_(seed) {
  double sum = 0;
  for (const Table& table : costs.workload().tables) {
    sum += static_cast<double>(table.rows) * static_cast<double>(row_bytes(table, table.dim));
    bytes_up_to_.push_back(sum);
  }
}

OffloadChoice KernelNeighbours::next(OffloadChoice choice) {
  const std::uint64_t count = 1 + rng_.below(kMostTables);
  for (std::uint64_t k = 0; k < count; ++k) {
    const std::size_t table = draw_table();
    choice.kernels[table] = draw_kernel(table, choice.kernels[table]);
  }
  if (rng_.below(kTurnsOfRows) == 0) choice.by_rows = !choice.by_rows;
  return choice;
}

std::size_t KernelNeighbours::draw_table() {
  const double drawn = rng_.uniform() * bytes_up_to_.back();
  const auto found = std::upper_bound(bytes_up_to_.begin(), bytes_up_to_.end() - 1, drawn);
  return static_cast<std::size_t>(found - bytes_up_to_.begin());
}

std::size_t KernelNeighbours::draw_kernel(std::size_t table, std::size_t now) {
  const std::span<const std::size_t> all = costs_.kernels(table);
  const std::size_t drawn = all[rng_.below(all.size())];
  const auto place = std::find(all.begin(), all.end(), now);
  const bool up = rng_.below(2) == 0;
  if (rng_.below(2) == 0 || (up ? place + 1 == all.end() : place == all.begin())) return drawn;
  return up ? *(place + 1) : *(place - 1);
}

}  // namespace neuroshard
