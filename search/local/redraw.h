#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/rng.h"
#include "search/local/local_plan.h"

namespace neuroshard::search {

/// A random way to have a table: whole, or in two, four or eight pieces, all as likely; fewer where
/// it cannot be split that often.
std::vector<EntryId> random_division(const ShapeCatalog& catalog, std::int32_t table, Rng& rng);

/// The plan with one random table divided anew and its pieces on random devices: a step that moves,
/// which touch two devices, do not make. The plan itself when a few draws find none that fits.
Assignment redraw_table(const Assignment& assignment, const Problem& problem,
                        const ShapeCatalog& catalog, Rng& rng);

}  // namespace neuroshard::search
