#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/rng.h"

namespace neuroshard {

/// `count` of `ids` at random and in random order, each once; all of them where there are fewer.
std::vector<std::int32_t> random_subset(std::span<const std::int32_t> ids, std::size_t count,
                                        Rng& rng);

/// The same of 0, 1, .. `size` - 1.
std::vector<std::int32_t> random_subset(std::size_t size, std::size_t count, Rng& rng);

}  // namespace neuroshard
