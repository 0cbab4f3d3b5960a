#pragma once

#include <cstdint>
#include <set>

#include "engine/core/plan.h"
#include "engine/core/table.h"

namespace neuroshard::search {

/// The same plan, as near to `now` as it comes by names alone: devices change numbers, if `alike`,
/// and the pieces of a table their columns, so that much of what there is stays where it is (not
/// always the most). Tables among `staying` are as in `now`. REQUIRES plans in canonical order, for
/// as many devices, and of the other tables in both whole rows on one device.
Plan brought_near(const Plan& plan, const Plan& now, const Workload& workload,
                  const std::set<std::int32_t>& staying, bool alike);

}  // namespace neuroshard::search
