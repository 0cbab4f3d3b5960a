#pragma once

#include <cstdint>
#include <set>

#include "engine/core/plan.h"
#include "engine/core/table.h"

namespace neuroshard::search {

/// The same plan, as near to `now` as it comes by names alone: devices change numbers, if `alike`,
/// and the pieces of a table their columns, so that much of what there is stays where it is (not
/// always the most). Tables that all devices have a part or all of keep their devices, and those
/// with divided rows their columns. Tables among `staying` are as in `now`. REQUIRES plans in
/// canonical order, for as many devices.
Plan brought_near(const Plan& plan, const Plan& now, const Workload& workload,
                  const std::set<std::int32_t>& staying, bool alike);

}  // namespace neuroshard::search
