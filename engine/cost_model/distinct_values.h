#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace neuroshard {

/// Floats of work space that number_distinct() needs for `count` values.
std::size_t distinct_work_size(std::size_t count);

/// Numbers equal values alike, from 0 in the order of first sight: numbers[k] is the number of
/// values[k], a float because scratch memory is of floats. Returns how many numbers there are; time
/// linear in the values, nothing is allocated. REQUIRES fewer than 2^24 values, and no NaN.
std::int64_t number_distinct(std::span<const float> values, float* numbers, float* work);

}  // namespace neuroshard
