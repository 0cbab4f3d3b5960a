#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/rng.h"
#include "search/local/local_plan.h"
#include "search/local/shape_catalog.h"
#include "search/problem.h"

namespace neuroshard::search {

/// A random way to have a table, or its block over a host: as it is, or in two, four or eight
/// pieces, all as likely; fewer where it cannot be split that often. Of its columns or its rows
/// where the catalog has both. Nothing when the table may only be on all devices.
std::vector<EntryId> random_division(const ShapeCatalog& catalog, std::int32_t table, Rng& rng);

/// The first of the devices that hold a piece at once, of a cluster of so many, all as likely that
/// may.
std::int32_t random_place(const ShapeCatalog& catalog, EntryId piece, std::int32_t devices,
                          Rng& rng);

/// The same, of the places where `has_room(first)`, as long as some draws find one: where memory is
/// tight, a large piece fits hardly anywhere but where its table was.
template <class HasRoom>
std::int32_t random_place_with_room(const ShapeCatalog& catalog, EntryId piece,
                                    std::int32_t devices, Rng& rng, const HasRoom& has_room) {
  constexpr int kPlaceDraws = 32;
  std::int32_t place = random_place(catalog, piece, devices, rng);
  for (int draw = 1; draw < kPlaceDraws && !has_room(place); ++draw) {
    place = random_place(catalog, piece, devices, rng);
  }
  return place;
}

/// The plan with one table, drawn at random, in another layout, within the devices' memory: over
/// all devices, on every device, or in random_division() at random places. The plan itself where
/// some draws fit nowhere.
Assignment with_random_relayout(const Assignment& assignment, const Problem& problem,
                                const ShapeCatalog& catalog, Rng& rng);

}  // namespace neuroshard::search
