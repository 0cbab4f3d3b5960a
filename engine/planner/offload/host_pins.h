#pragma once

#include <cstdint>

#include "search/search_space.h"

namespace neuroshard {

/// Hosts of as many devices each, in order.
struct Hosts {
  std::int32_t count = 1;
  std::int32_t devices_each = 1;
  std::int64_t memory_bytes = 0;  ///< of each, for tables
};

/// How a table that no host has the memory for goes over all of them: in any parts, which are even
/// if plans are lucky, or in even blocks of rows.
enum class SharedBy { kAnyParts, kRows };

/// Keeps each table that the space has in host memory on the devices of one host, so that no
/// host has more than its memory: the largest first, each to the host with the least. One that no
/// host has memory for goes over all of them. False, and the space as it was, where that leaves one
/// without a place.
bool pin_to_hosts(const Hosts& hosts, SharedBy shared, search::SearchSpace& space);

}  // namespace neuroshard
