#pragma once

#include <cstdint>

namespace neuroshard {

// How rows are dealt out in blocks. TorchRec's are even, of block_rows() each and the last of what
// is left; HugeCTR deals keys out by modulo, so that block k has rows k, k + blocks, .. of a table.
// Plans know contiguous rows only: those of a modulo are blocks of the same sizes, one after the
// other.

/// Whose blocks: where all are of one size they may be either's.
enum class RowDeal { kEven, kModulo };

/// Rows [begin, end) of a table.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend bool operator==(const RowRange&, const RowRange&) = default;
};

/// Rows of an even block when `rows`, at least 1, are dealt out in so many: the last that gets any
/// has what is left, and with few rows some get none.
std::int64_t block_rows(std::int64_t rows, std::int32_t blocks);
/// Even block `index` of those; empty where the rows end before it.
RowRange even_rows(std::int64_t rows, std::int32_t blocks, std::int32_t index);

/// Block `index` of `rows` that a modulo deals out in `blocks`: the first rows % blocks have a row
/// more than the others, which have none where there are fewer rows than blocks.
RowRange modulo_rows(std::int64_t rows, std::int32_t blocks, std::int32_t index);

/// Whether `own`, which is not empty, is block `index` of `rows` in so many: an even one or a
/// modulo's.
bool is_row_block(const RowRange& own, std::int64_t rows, std::int32_t blocks, std::int32_t index);

/// Which of `blocks`, all with rows, begins with `row`: blocks of a modulo, or even ones.
std::int32_t row_block_at(std::int64_t rows, std::int32_t blocks, std::int64_t row);

}  // namespace neuroshard
