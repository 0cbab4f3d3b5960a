#pragma once

#include "engine/core/plan.h"
#include "engine/core/table.h"

namespace neuroshard::search {

/// The same plan, as near to `now` as it comes by names alone: devices change numbers, if `alike`,
/// and the pieces of a table their columns, so that much of what there is stays where it is (not
/// always the most). Tables of which `now` has row shards or replicas are as in `now`. REQUIRES
/// plans in canonical order, for as many devices, the first of them of whole rows on one device.
Plan brought_near(const Plan& plan, const Plan& now, const Workload& workload, bool alike);

}  // namespace neuroshard::search
