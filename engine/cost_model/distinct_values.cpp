#include "engine/cost_model/distinct_values.h"

#include <algorithm>
#include <bit>

namespace neuroshard {

std::size_t distinct_work_size(std::size_t count) { return std::bit_ceil(2 * count); }

/// An open-addressed hash table of positions + 1, at most half full; 0 is a free place.
std::int64_t number_distinct(std::span<const float> values, float* numbers, float* work) {
  const std::size_t places = distinct_work_size(values.size());
  std::fill_n(work, places, 0.0f);
  std::int64_t count = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::uint32_t mixed = std::bit_cast<std::uint32_t>(values[k]) * 0x9e3779b1U;
    std::size_t place = (mixed ^ (mixed >> 15)) & (places - 1);
    while (work[place] != 0 && values[static_cast<std::size_t>(work[place]) - 1] != values[k]) {
      place = (place + 1) & (places - 1);
    }
    if (work[place] == 0) {
      work[place] = static_cast<float>(k + 1);
      numbers[k] = static_cast<float>(count++);
    } else {
      numbers[k] = numbers[static_cast<std::size_t>(work[place]) - 1];
    }
  }
  return count;
}

}  // namespace neuroshard
