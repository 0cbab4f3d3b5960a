#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "search/search_space.h"

namespace neuroshard {

/// The shards of one table.
using TableLayout = std::vector<Shard>;

/// Devices that are worth trying as targets: the idlest, that many at most.
inline constexpr std::size_t kMostTargets = 16;

/// What else could be done with a table, one change at a time, as far as the space allows it
/// and the models know what it costs: whole on each of `targets`; each shard of columns on each of
/// them, or its second half; rows over all devices, or those of the hosts of `targets`; whole on
/// every device. Not as it is in `now`, its layout in a plan on the cluster's devices, and no two
/// shards of the table on one device. `visit` is given one after the other, until it says false.
void for_each_other_layout(const search::SearchSpace& space, const TableLayout& now,
                           const CostModels& models, const Cluster& cluster,
                           std::span<const std::int32_t> targets,
                           const std::function<bool(const TableLayout&)>& visit);

}  // namespace neuroshard
