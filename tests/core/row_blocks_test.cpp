// How trainers deal rows out in blocks.
#include "engine/core/row_blocks.h"

#include <boost/test/unit_test.hpp>
#include <vector>

#include "engine/core/plan.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(row_blocks)

BOOST_AUTO_TEST_CASE(blocks_of_a_modulo_have_as_many_rows_as_there_are_keys_of_that_remainder) {
  for (std::int64_t rows = 1; rows < 40; ++rows) {
    for (std::int32_t blocks = 1; blocks < 12; ++blocks) {
      std::vector<std::int64_t> keys(static_cast<std::size_t>(blocks));
      for (std::int64_t key = 0; key < rows; ++key) ++keys[static_cast<std::size_t>(key % blocks)];
      std::int64_t row = 0;
      for (std::int32_t k = 0; k < blocks; ++k) {
        const RowRange block = modulo_rows(rows, blocks, k);
        BOOST_TEST(block.begin == row);
        BOOST_TEST(block.end - block.begin == keys[static_cast<std::size_t>(k)]);
        row = block.end;
      }
      BOOST_TEST(row == rows);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_block_is_known_by_its_first_row_whether_even_or_of_a_modulo) {
  for (std::int64_t rows = 1; rows < 60; ++rows) {
    for (std::int32_t blocks = 1; blocks <= rows; ++blocks) {
      const std::int64_t even = block_rows(rows, blocks);
      const bool all_have_rows = even * (blocks - 1) < rows;
      for (std::int32_t k = 0; k < blocks; ++k) {
        BOOST_TEST(row_block_at(rows, blocks, modulo_rows(rows, blocks, k).begin) == k);
        if (all_have_rows) BOOST_TEST(row_block_at(rows, blocks, even * k) == k);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
