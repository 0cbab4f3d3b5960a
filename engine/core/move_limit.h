#pragma once

#include <cstdint>

namespace neuroshard {

/// How far from a plan that runs another one may be.
struct MoveLimit {
  std::int64_t bytes = 0;  ///< moved_bytes(), at most
  /// Only tables that are whole on one device move, and stay so: for trainers whose plans do not
  /// say which columns are where, or want all tables split alike.
  bool whole_tables = false;
};

}  // namespace neuroshard
