#include "search/local/join.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace neuroshard::search {
namespace {

/// Joins one pair of `pieces`, which are of one table on one device; false when none can be.
bool join_two(const std::vector<std::size_t>& pieces, const ShapeCatalog& catalog, LocalWalk& walk,
              Assignment& assignment, double& cost) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (std::size_t j = i + 1; j < pieces.size(); ++j) {
      const CatalogEntry& one = catalog.entry(assignment[pieces[i]].entry);
      const CatalogEntry& other = catalog.entry(assignment[pieces[j]].entry);
      const EntryId joined = catalog.find(one.table, one.dim + other.dim);
      if (joined == kNoEntry) continue;
      Assignment trial = assignment;
      trial[pieces[i]].entry = joined;
      trial[pieces[j]] = {};
      const double trial_cost = walk.cost(trial);
      if (!(trial_cost <= cost)) continue;
      cost = trial_cost;
      assignment = std::move(trial);
      return true;
    }
  }
  return false;
}

}  // namespace

Assignment join_pieces(Assignment assignment, const ShapeCatalog& catalog, LocalWalk& walk) {
  double cost = walk.cost(assignment);
  const auto key = [&](std::size_t piece) {
    const Placed& placed = assignment[piece];
    return std::pair(catalog.entry(placed.entry).table, placed.device);
  };
  std::vector<std::size_t> in_use;
  for (std::size_t piece = 0; piece < assignment.size(); ++piece) {
    if (assignment[piece].device != kNoDevice) in_use.push_back(piece);
  }
  std::stable_sort(in_use.begin(), in_use.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  for (std::size_t begin = 0; begin < in_use.size();) {
    std::size_t end = begin + 1;
    while (end < in_use.size() && key(in_use[end]) == key(in_use[begin])) ++end;
    std::vector<std::size_t> pieces(in_use.begin() + static_cast<std::ptrdiff_t>(begin),
                                    in_use.begin() + static_cast<std::ptrdiff_t>(end));
    while (join_two(pieces, catalog, walk, assignment, cost)) {
      std::erase_if(pieces,
                    [&](std::size_t piece) { return assignment[piece].device == kNoDevice; });
    }
    begin = end;
  }
  return assignment;
}

}  // namespace neuroshard::search
