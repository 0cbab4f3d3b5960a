#include "engine/core/row_blocks.h"

#include <algorithm>

namespace neuroshard {

std::int64_t block_rows(std::int64_t rows, std::int32_t blocks) { return (rows - 1) / blocks + 1; }

RowRange even_rows(std::int64_t rows, std::int32_t blocks, std::int32_t index) {
  const std::int64_t block = block_rows(rows, blocks);
  return {std::min(rows, index * block), std::min(rows, (index + 1) * block)};
}

RowRange modulo_rows(std::int64_t rows, std::int32_t blocks, std::int32_t index) {
  const std::int64_t least = rows / blocks;
  const std::int64_t larger = rows % blocks;  // blocks with a row more
  const std::int64_t begin = index * least + std::min<std::int64_t>(index, larger);
  return {begin, begin + least + (index < larger ? 1 : 0)};
}

bool is_row_block(const RowRange& own, std::int64_t rows, std::int32_t blocks, std::int32_t index) {
  return own == modulo_rows(rows, blocks, index) || own == even_rows(rows, blocks, index);
}

// An even block begins behind the first row of the modulo's block of that number, and in it: were
// it a block further on, some even block would have no rows.
std::int32_t row_block_at(std::int64_t rows, std::int32_t blocks, std::int64_t row) {
  const std::int64_t least = rows / blocks;
  const std::int64_t larger = rows % blocks;
  const std::int64_t of_larger = larger * (least + 1);
  const std::int64_t block = row < of_larger
                                 ? row / (least + 1)
                                 : larger + (row - of_larger) / std::max<std::int64_t>(least, 1);
  return static_cast<std::int32_t>(std::min<std::int64_t>(block, blocks - 1));
}

}  // namespace neuroshard
