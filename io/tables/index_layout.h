#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/status.h"
#include "io/npy.h"

namespace neuroshard::io {

inline constexpr std::int64_t kItemsAtOnce = 1 << 16;  ///< what is read of an array at once

/// Room for what is read at once of an array.
inline std::size_t piece_items(const NpyFile& file) {
  return static_cast<std::size_t>(std::min(kItemsAtOnce, file.items()));
}

/// Where each table's lookups begin in the indices of an index directory, and where the last one's
/// end.
struct IndexLayout {
  std::int64_t batch_size = 0;
  std::vector<std::int64_t> begin;
};

/// Reads all offsets once, streaming: they must rise from 0 to the end of the indices, as lengths
/// say. `batch_size` 0: the shape of lengths. Errors: kInvalidInput naming the file and the item,
/// kIoError.
Result<IndexLayout> read_index_layout(const NpyFile& offsets, const std::optional<NpyFile>& lengths,
                                      const NpyFile& indices, std::int64_t batch_size);

/// "FILE: item 3 is 7", the beginning of an error.
std::string npy_item(const NpyFile& file, std::int64_t index, std::int64_t value);

}  // namespace neuroshard::io
