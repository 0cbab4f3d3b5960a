// Rows by columns against the same rows, to the bit, on every instruction set: with columns that
// are the same in all rows, or in none, and values that are no numbers.
#include "nn/max_dot_columns.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "nn/inference.h"
#include "tests/nn/backends.h"

namespace neuroshard::nn {

BOOST_AUTO_TEST_SUITE(max_dot_columns)

namespace {

/// Some of the columns are above -addend in some rows.
struct Rows {
  Rows(Rng& rng, int columns, std::int64_t count, double open)
      : size(columns), rows(count), x(random_values(rng, columns * count)) {
    addend = random_values(rng, columns);
    weight = random_values(rng, columns);
    for (int i = 0; i < columns; ++i) {
      if (rng.uniform() < open) continue;
      for (std::int64_t row = 0; row < count; ++row) value(row, i) -= 3;
    }
  }
  float& value(std::int64_t row, int i) { return x[static_cast<std::size_t>(row * size + i)]; }

  int size;
  std::int64_t rows;
  std::vector<float> x;
  std::vector<float> addend;
  std::vector<float> weight;
  float offset = 0.25f;
};

std::vector<float> by_rows(const Rows& rows, const InferenceKernels& kernels) {
  std::vector<float> out(static_cast<std::size_t>(rows.rows));
  kernels.max_dot_rows(rows.size, rows.rows, rows.x.data(), rows.addend.data(), rows.weight.data(),
                       rows.offset, out.data());
  return out;
}

/// None where the columns are left to the rows.
std::vector<float> by_columns(Rows rows, const InferenceKernels& kernels) {
  const auto lanes = static_cast<std::int64_t>(kColumnLanes);
  const std::int64_t blocks = (rows.rows + lanes - 1) / lanes;
  std::vector<float> columns(static_cast<std::size_t>(blocks * lanes * rows.size));
  std::vector<float> most(static_cast<std::size_t>(rows.size),
                          -std::numeric_limits<float>::infinity());
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    for (int i = 0; i < rows.size; ++i) {
      const float value = rows.value(row, i);
      columns[static_cast<std::size_t>((row / lanes * rows.size + i) * lanes + row % lanes)] =
          value;
      float& own = most[static_cast<std::size_t>(i)];
      if (!(value <= own)) own = value == value ? value : std::numeric_limits<float>::infinity();
    }
  }
  std::vector<float> out(static_cast<std::size_t>(blocks * lanes));
  if (!kernels.max_dot_columns({rows.size, static_cast<std::size_t>(blocks), columns.data(),
                                most.data(), rows.addend.data(), rows.weight.data(), rows.offset,
                                out.data()})) {
    return {};
  }
  out.resize(static_cast<std::size_t>(rows.rows));
  return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(columns_have_the_bits_of_rows) {
  int compared = 0;
  for (const Isa isa : usable_isas()) {
    const InferenceKernels& kernels = inference_kernels(isa);
    if (kernels.max_dot_columns == nullptr) continue;
    Rng rng(3);
    for (int round = 0; round < 200; ++round) {
      const int size = std::vector<int>{8, 24, 64, 72}[static_cast<std::size_t>(round % 4)];
      const auto count = static_cast<std::int64_t>(1 + rng.below(50));
      Rows rows(rng, size, count, round % 7 == 0 ? 0 : 0.08);
      if (round % 5 == 1) {
        rows.value(count / 2, size / 2) = std::numeric_limits<float>::quiet_NaN();
        rows.value(0, 1) = std::numeric_limits<float>::infinity();
      }
      const std::vector<float> found = by_columns(rows, kernels);
      if (found.empty()) continue;
      ++compared;
      BOOST_TEST(found == by_rows(rows, kernels), to_string(isa) << ", round " << round);
    }
    Rows different(rng, 64, 20, 1);
    BOOST_TEST(by_columns(different, kernels).empty());
    BOOST_TEST(compared > 100);
    compared = 0;
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::nn
