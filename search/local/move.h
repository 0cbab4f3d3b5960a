#pragma once

#include <array>
#include <cstdint>

#include "search/local/local_plan.h"

namespace neuroshard::search {

using Edits = std::array<Edit, 4>;

/// A change of a plan that touches one or two devices, and what it makes of them.
struct Move {
  std::array<DeviceChange, 2> changes;
  Edits edits;
  int edit_count = 0;

  // After the move, of changes[k].device:
  std::array<float, 2> compute_ms{};
  std::array<std::int64_t, 2> dims{};
};

}  // namespace neuroshard::search
