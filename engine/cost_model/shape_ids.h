#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "engine/core/plan.h"

namespace neuroshard {

struct ShardShapeHash {
  std::size_t operator()(const ShardShape& shape) const {
    std::uint64_t hash = static_cast<std::uint64_t>(shape.rows) * 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ static_cast<std::uint32_t>(shape.table)) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ static_cast<std::uint32_t>(shape.dim)) * 0x94d049bb133111ebULL;
    return hash ^ (hash >> 31);
  }
};

/// The numbers of shapes.
using ShapeIds = std::unordered_map<ShardShape, std::int32_t, ShardShapeHash>;

}  // namespace neuroshard
