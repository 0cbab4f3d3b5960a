#include "search/replan/cell_plan.h"

namespace neuroshard::search {

CellPlan cells_of(const Plan& plan, const ShapeCatalog& catalog) {
  CellPlan own;
  const std::vector<ShardShape> shapes = shapes_of(plan);
  for (std::size_t k = 0; k < plan.shards.size(); ++k) {
    Shard shard = plan.shards[k];
    const bool replicated = shard.device == kEveryDevice;
    const std::int32_t end = replicated ? plan.devices : shard.device + 1;
    for (shard.device = replicated ? 0 : shard.device; shard.device < end; ++shard.device) {
      own.pieces.push_back({catalog.of(shapes[k]), shard.device});
      own.cells.push_back(shard);
    }
  }
  return own;
}

Plan plan_of(const CellPlan& plan, const ShapeCatalog& catalog, std::int32_t devices) {
  Plan out{devices, {}};
  for (std::size_t k = 0; k < plan.pieces.size(); ++k) {
    const Placed& piece = plan.pieces[k];
    if (piece.device == kNoDevice) continue;
    Shard shard = plan.cells[k];
    if (catalog.entry(piece.entry).spread == Spread::kReplicas) {
      if (piece.device != 0) continue;  // one says it of all
      shard.device = kEveryDevice;
    }
    out.shards.push_back(shard);
  }
  canonicalize(out);
  return out;
}

}  // namespace neuroshard::search
