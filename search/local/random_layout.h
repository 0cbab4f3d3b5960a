#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/rng.h"
#include "search/local/local_plan.h"
#include "search/local/shape_catalog.h"
#include "search/problem.h"

namespace neuroshard::search {

/// A random way to have a table, or its block over a host: as it is, or in two, four or eight
/// pieces, all as likely; fewer where it cannot be split that often. Of its columns or its rows
/// where the catalog has both. Nothing when the table may only be on all devices.
/// A table in equal blocks is in any number of them, all as likely.
std::vector<EntryId> random_division(const ShapeCatalog& catalog, std::int32_t table, Rng& rng);

/// A table's columns cut in two anywhere; nothing where they cannot be in any widths.
std::vector<EntryId> random_cut(const ShapeCatalog& catalog, std::int32_t table, Rng& rng);

/// Where a piece goes that was to go to `place`: there or, if its table's have to be apart, to the
/// next place that it may be and that is not among `taken`, the devices with others; kNoDevice:
/// there is none.
std::int32_t place_apart(const ShapeCatalog& catalog, EntryId piece, std::int32_t place,
                         std::int32_t devices, std::span<const std::int32_t> taken);

/// The first of the devices that hold a piece at once, of a cluster of so many, all as likely that
/// may.
std::int32_t random_place(const ShapeCatalog& catalog, EntryId piece, std::int32_t devices,
                          Rng& rng);

/// The same, of the places where all devices that hold it have the memory beside the `bytes` that
/// each device has, as long as some draws find one: where memory is tight, a large piece fits
/// hardly anywhere but where its table was.
std::int32_t random_place_with_room(const ShapeCatalog& catalog, EntryId piece,
                                    std::span<const std::int64_t> bytes, std::int64_t memory_bytes,
                                    Rng& rng);

/// The plan with one table, drawn at random, half of the time of those with a part on every device,
/// in another layout, within the devices' memory: over all devices, on every device, or in
/// random_division() at random places. The plan itself where some draws fit nowhere.
Assignment with_random_relayout(const Assignment& assignment, const Problem& problem,
                                const ShapeCatalog& catalog, Rng& rng);

}  // namespace neuroshard::search
