#pragma once

#include <cstdint>
#include <set>

#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "search/search_space.h"

namespace neuroshard::search {

/// The plan with the columns that a device has of a table side by side, as one block. Costs may
/// differ, bytes do not grow. Tables that are not pooled stay, and those that may not be whole
/// where they would be. REQUIRES a plan in canonical order.
Plan with_one_block_each(const Plan& plan, const SearchSpace& space);

/// The same plan, as near to `now` as it comes by names alone: devices change numbers, if `alike`,
/// and the pieces of a table their columns, so that much of what there is stays where it is (not
/// always the most). Tables that all devices have a part or all of keep their devices, and those
/// with divided rows their columns. Tables among `staying` are as in `now`. REQUIRES plans in
/// canonical order, for as many devices.
Plan brought_near(const Plan& plan, const Plan& now, const Workload& workload,
                  const std::set<std::int32_t>& staying, bool alike);

}  // namespace neuroshard::search
