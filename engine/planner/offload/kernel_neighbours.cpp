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
  for (const Table& table : costs.workload().tables) {
    tables_.add(static_cast<double>(table.rows) * static_cast<double>(row_bytes(table, table.dim)));
  }
}

OffloadChoice KernelNeighbours::next(OffloadChoice choice) {
  const std::uint64_t count = 1 + rng_.below(kMostTables);
  for (std::uint64_t k = 0; k < count; ++k) {
    const std::size_t table = tables_.draw(rng_);
    choice.kernels[table] = draw_kernel(table, choice.kernels[table]);
  }
  if (rng_.below(kTurnsOfRows) == 0) choice.by_rows = !choice.by_rows;
  return choice;
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
