// Kernels on values that are no number: an overflow is not lost on the way to a cost.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "nn/inference.h"
#include "tests/nn/backends.h"

namespace neuroshard::nn {

BOOST_AUTO_TEST_SUITE(no_number)

BOOST_AUTO_TEST_CASE(a_value_that_is_no_number_is_not_clipped_to_zero) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr std::size_t kRows = 21;
  for (const Isa isa : usable_isas()) {
    const InferenceKernels& kernels = inference_kernels(isa);
    for (const std::size_t width : {8U, 64U, 72U}) {
      const auto size = static_cast<int>(width);
      const std::vector<float> ones(width, 1.0f);
      for (std::size_t at = 0; at < width; ++at) {
        std::vector<float> bad = ones;
        bad[at] = kNan;
        const std::array<const float*, 2> parts{ones.data(), bad.data()};
        BOOST_TEST(std::isnan(kernels.sum_relu_dot(size, parts.data(), 2, ones.data())));
        std::vector<float> state = ones;
        BOOST_TEST(std::isnan(kernels.add_relu_dot(size, bad.data(), ones.data(), state.data())));
        std::vector<float> x(kRows * width, 1.0f);
        const std::size_t row = at % kRows;
        x[row * width + at] = kNan;
        std::vector<float> found(kRows);
        kernels.max_dot_rows(size, kRows, x.data(), ones.data(), ones.data(), 0, found.data());
        BOOST_TEST(std::isinf(found[row]), to_string(isa));
        const std::vector<float> weight(width * width, 1.0f);
        std::vector<float> y(x.size());
        for (const std::size_t rows : {row + 1, kRows}) {
          kernels.dense({static_cast<std::int64_t>(rows), size, size, x.data(), size, weight.data(),
                         ones.data(), true, y.data(), size});
          BOOST_TEST(std::isnan(y[row * width + at]), to_string(isa) << " of " << rows);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_training_network_that_overflows_says_no_number_either) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::int64_t kRows = 7;
  for (const Backend* backend : usable_backends()) {
    for (const int outputs : {1, 8, 21}) {
      const std::vector<float> weight(static_cast<std::size_t>(2 * outputs), 1.0f);
      const std::vector<float> bias(static_cast<std::size_t>(outputs), 0.0f);
      std::vector<float> x(2 * kRows, 1.0f);
      x[6] = kInfinity;  // of the fourth row
      x[7] = -kInfinity;
      std::vector<float> y(static_cast<std::size_t>(kRows * outputs));
      backend->run(DenseForward{.rows = kRows,
                                .spec = {2, outputs, Activation::kRelu},
                                .x = x.data(),
                                .weight = weight.data(),
                                .bias = bias.data(),
                                .y = y.data()});
      for (std::size_t at = 0; at < y.size(); ++at) {
        const bool fourth = at / static_cast<std::size_t>(outputs) == 3;
        BOOST_TEST((fourth ? std::isnan(y[at]) : y[at] == 2.0f), backend->name());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(sums_that_are_no_number_come_out_infinite_and_leave_the_others_alone) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Isa isa : usable_isas()) {
    for (const std::size_t width : {8U, 64U, 72U}) {
      for (const std::size_t rows : {1U, 2U, 3U, 4U, 7U, 8U, 16U, 21U}) {
        const std::vector<float> addend(width, 0.0f);
        std::vector<float> weight(width, 1.0f);
        weight.back() = -1.0f;
        std::vector<float> x(rows * width, 0.5f);
        x[(rows / 2) * width] = kInfinity;  // infinity less infinity
        x[(rows / 2) * width + width - 1] = kInfinity;
        std::vector<float> found(rows);
        inference_kernels(isa).max_dot_rows(static_cast<int>(width),
                                            static_cast<std::int64_t>(rows), x.data(),
                                            addend.data(), weight.data(), 1.0f, found.data());
        const float finite = 0.5f * static_cast<float>(width - 2) + 1.0f;
        for (std::size_t row = 0; row < rows; ++row) {
          BOOST_TEST(found[row] == (row == rows / 2 ? kInfinity : finite), to_string(isa));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::nn
