#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/rng.h"
#include "search/local/local_plan.h"

namespace neuroshard::search {

/// A random way to have a table, or its block over a host: as it is, or in two, four or eight
/// pieces, all as likely; fewer where it cannot be split that often. Of its columns or its rows
/// where the catalog has both. Nothing when the table may only be on all devices.
std::vector<EntryId> random_division(const ShapeCatalog& catalog, std::int32_t table, Rng& rng);

/// The first of the devices that hold a piece at once, of a cluster of so many, all as likely that
/// may.
std::int32_t random_place(const ShapeCatalog& catalog, EntryId piece, std::int32_t devices,
                          Rng& rng);

/// The plan with one random table divided anew and its pieces on random devices: a step that moves,
/// which touch two devices, do not make. Where the catalog has blocks, half of the tables drawn go
/// over all devices, or come back from there; of the others, half are
/// replicated where the catalog allows that, or go over random hosts. The plan
/// itself when a few draws find none that fits.
Assignment redraw_table(const Assignment& assignment, const Problem& problem,
                        const ShapeCatalog& catalog, Rng& rng);

/// All tables, those first that cost most whole, of equals the first.
std::vector<std::int32_t> dearest_tables(const PlanEvaluator& evaluator,
                                         const ShapeCatalog& catalog);

/// The plan with these tables over all devices in even blocks; the plan itself where one has no
/// blocks or they do not fit.
Assignment spread_tables(const Assignment& assignment, std::span<const std::int32_t> tables,
                         const Problem& problem, const ShapeCatalog& catalog);

}  // namespace neuroshard::search
