// Prediction kernels: every instruction set against plain loops in double, on random networks of
// awkward sizes.
#include "nn/inference.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "engine/core/rng.h"
#include "tests/nn/backends.h"

namespace neuroshard::nn {
namespace {

std::vector<float> random_floats(Rng& rng, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(rng.normal());
  return values;
}

std::vector<double> plain_forward(const Mlp& mlp, const float* x) {
  std::vector<double> in(x, x + mlp.inputs());
  for (std::size_t k = 0; k < mlp.depth(); ++k) {
    std::vector<double> out;
    for (int o = 0; o < mlp.layer(k).outputs; ++o) {
      double sum = mlp.bias(k)[static_cast<std::size_t>(o)];
      for (std::size_t i = 0; i < in.size(); ++i) {
        sum += in[i] * mlp.weight(k)[static_cast<std::size_t>(o) * in.size() + i];
      }
      out.push_back(mlp.layer(k).activation == Activation::kRelu ? std::max(sum, 0.0) : sum);
    }
    in = out;
  }
  return in;
}

Mlp random_mlp(Rng& rng) {
  std::vector<int> sizes;
  const auto depth = rng.between(1, 4);
  for (std::int64_t k = 0; k <= depth; ++k) sizes.push_back(static_cast<int>(rng.between(1, 150)));
  Mlp mlp(dense_stack(sizes, rng.below(2) == 0 ? Activation::kNone : Activation::kRelu));
  initialize(mlp, rng);
  return mlp;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(inference)

BOOST_AUTO_TEST_CASE(packed_networks_predict_what_plain_ones_do) {
  Rng rng(1);
  for (int network = 0; network < 40; ++network) {
    const Mlp mlp = random_mlp(rng);
    const std::int64_t rows = rng.between(1, 15);
    const std::int64_t stride = mlp.inputs() + rng.between(0, 3);
    const std::vector<float> x = random_floats(rng, static_cast<std::size_t>(rows * stride));
    for (const Isa isa : usable_isas()) {
      const PackedMlp packed(mlp, inference_kernels(isa));
      std::vector<float> scratch(packed.scratch_size(rows));
      std::vector<float> y(static_cast<std::size_t>(rows * packed.output_stride()), 99.0f);
      packed.forward(rows, x.data(), stride, scratch.data(), y.data());
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::vector<double> expected = plain_forward(mlp, x.data() + row * stride);
        const float* found = y.data() + row * packed.output_stride();
        for (int o = 0; o < packed.output_stride(); ++o) {
          const double want = o < mlp.outputs() ? expected[static_cast<std::size_t>(o)] : 0.0;
          BOOST_TEST(std::abs(found[o] - want) <= 2e-5 * (1 + std::abs(want)),
                     to_string(isa) << ": " << found[o] << " for " << want);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_row_is_the_same_bits_in_any_batch) {
  Rng rng(2);
  const Mlp mlp = random_mlp(rng);
  const std::vector<float> x = random_floats(rng, 20 * static_cast<std::size_t>(mlp.inputs()));
  for (const Isa isa : usable_isas()) {
    const PackedMlp packed(mlp, inference_kernels(isa));
    const auto width = static_cast<std::size_t>(packed.output_stride());
    std::vector<float> scratch(packed.scratch_size(20));
    std::vector<float> alone(width);
    std::vector<float> together(20 * width);
    for (std::int64_t rows = 1; rows <= 20; ++rows) {
      packed.forward(rows, x.data(), mlp.inputs(), scratch.data(), together.data());
      for (std::int64_t row = 0; row < rows; ++row) {
        packed.forward(1, x.data() + row * mlp.inputs(), mlp.inputs(), scratch.data(),
                       alone.data());
        const float* found = together.data() + row * packed.output_stride();
        BOOST_TEST(std::vector<float>(found, found + width) == alone);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(wide_layers_are_the_same_bits_in_any_batch_too) {
  Rng rng(7);
  // More inputs than kernels may keep lists of, more outputs than a tile has.
  Mlp mlp(dense_stack(std::vector<int>{1100, 140, 260, 9}, Activation::kNone));
  initialize(mlp, rng);
  const std::vector<float> x = random_floats(rng, 13 * 1100);
  for (const Isa isa : usable_isas()) {
    const PackedMlp packed(mlp, inference_kernels(isa));
    const auto width = static_cast<std::size_t>(packed.output_stride());
    std::vector<float> scratch(packed.scratch_size(13));
    std::vector<float> together(13 * width);
    std::vector<float> alone(width);
    packed.forward(13, x.data(), 1100, scratch.data(), together.data());
    for (std::size_t row = 0; row < 13; ++row) {
      const std::vector<double> expected = plain_forward(mlp, x.data() + row * 1100);
      const float* found = together.data() + row * width;
      for (std::size_t o = 0; o < expected.size(); ++o) {
        BOOST_TEST(std::abs(found[o] - expected[o]) <= 1e-4 * (1 + std::abs(expected[o])),
                   to_string(isa) << " row " << row << " output " << o);
      }
      packed.forward(1, x.data() + row * 1100, 1100, scratch.data(), alone.data());
      BOOST_TEST(std::equal(alone.begin(), alone.end(), found));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_rows_have_in_common_may_be_given_once) {
  Rng rng(6);
  for (int network = 0; network < 30; ++network) {
    const Mlp mlp = random_mlp(rng);
    const auto inputs = static_cast<std::size_t>(mlp.inputs());
    const auto groups = static_cast<std::size_t>(rng.between(1, 4));
    const auto rows = static_cast<std::size_t>(rng.between(1, 13));
    const auto common = static_cast<std::size_t>(rng.between(0, mlp.inputs()));
    std::vector<float> shared = random_floats(rng, groups * common);
    const std::vector<float> own = random_floats(rng, groups * rows * (inputs - common));
    for (const Isa isa : usable_isas()) {
      const PackedMlp packed(mlp, inference_kernels(isa));
      PackedMlp::Groups all{static_cast<std::int64_t>(groups), static_cast<std::int64_t>(rows),
                            static_cast<int>(common), shared.data(), own.data()};
      const auto width = static_cast<std::size_t>(packed.output_stride());
      std::vector<float> scratch(packed.scratch_size(all));
      std::vector<float> y(groups * rows * width);
      packed.forward_groups(all, scratch.data(), y.data());
      for (std::size_t row = 0; row < groups * rows; ++row) {
        const auto begin = shared.begin() + static_cast<std::ptrdiff_t>(row / rows * common);
        std::vector<float> x(begin, begin + static_cast<std::ptrdiff_t>(common));
        const auto others = own.begin() + static_cast<std::ptrdiff_t>(row * (inputs - common));
        x.insert(x.end(), others, others + static_cast<std::ptrdiff_t>(inputs - common));
        const std::vector<double> expected = plain_forward(mlp, x.data());
        for (std::size_t o = 0; o < expected.size(); ++o) {
          BOOST_TEST(
              std::abs(y[row * width + o] - expected[o]) <= 2e-5 * (1 + std::abs(expected[o])),
              to_string(isa) << " row " << row << " output " << o);
        }
      }
      // The last group alone has the same bits.
      all.groups = 1;
      all.common_x += (groups - 1) * common;
      all.x += (groups - 1) * rows * (inputs - common);
      std::vector<float> alone(rows * width);
      packed.forward_groups(all, scratch.data(), alone.data());
      BOOST_TEST(std::equal(alone.begin(), alone.end(),
                            y.end() - static_cast<std::ptrdiff_t>(alone.size())));
    }
  }
}

BOOST_AUTO_TEST_CASE(adding_a_shape_updates_the_state_and_weighs_it) {
  Rng rng(3);
  for (const Isa isa : usable_isas()) {
    for (int size = 8; size <= 136; size += 8) {
      const auto count = static_cast<std::size_t>(size);
      const std::vector<float> addend = random_floats(rng, count);
      const std::vector<float> weight = random_floats(rng, count);
      const std::vector<float> before = random_floats(rng, count);
      std::vector<float> state = before;
      const float found =
          inference_kernels(isa).add_relu_dot(size, addend.data(), weight.data(), state.data());
      double expected = 0;
      for (std::size_t i = 0; i < count; ++i) {
        BOOST_TEST(state[i] == before[i] + addend[i]);
        expected += std::max(0.0, static_cast<double>(state[i])) * weight[i];
      }
      BOOST_TEST(std::abs(found - expected) < 1e-4, to_string(isa) << " size " << size);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_sum_of_parts_is_weighed_without_being_stored) {
  Rng rng(4);
  for (const Isa isa : usable_isas()) {
    for (int size = 8; size <= 136; size += 8) {
      const auto count = static_cast<std::size_t>(size);
      std::vector<std::vector<float>> vectors;
      std::vector<const float*> parts;
      for (std::int64_t k = rng.between(1, 9); k > 0; --k) {
        vectors.push_back(random_floats(rng, count));
        parts.push_back(vectors.back().data());
      }
      const std::vector<float> weight = random_floats(rng, count);
      const float found = inference_kernels(isa).sum_relu_dot(
          size, parts.data(), static_cast<int>(parts.size()), weight.data());
      double expected = 0;
      for (std::size_t i = 0; i < count; ++i) {
        double sum = 0;
        for (const std::vector<float>& vector : vectors) sum += vector[i];
        expected += std::max(0.0, sum) * weight[i];
      }
      BOOST_TEST(std::abs(found - expected) < 2e-4, to_string(isa) << " size " << size);
    }
  }
}

BOOST_AUTO_TEST_CASE(one_addend_meets_many_rows) {
  Rng rng(5);
  for (const Isa isa : usable_isas()) {
    const InferenceKernels& kernels = inference_kernels(isa);
    for (int size = 8; size <= 264; size += 8) {
      const auto width = static_cast<std::size_t>(size);
      const auto rows = static_cast<std::size_t>(rng.between(1, 70));
      const std::vector<float> x = random_floats(rng, rows * width);
      const std::vector<float> addend = random_floats(rng, width);
      const std::vector<float> weight = random_floats(rng, width);
      const auto offset = static_cast<float>(rng.normal());
      std::vector<float> found(rows + 1, 7.0f);
      kernels.max_dot_rows(size, static_cast<std::int64_t>(rows), x.data(), addend.data(),
                           weight.data(), offset, found.data());
      BOOST_TEST(found[rows] == 7.0f);  // not written
      for (std::size_t row = 0; row < rows; ++row) {
        double expected = offset;
        double weighed = std::abs(offset);
        for (std::size_t i = 0; i < width; ++i) {
          const double value = x[row * width + i];
          expected += weight[i] * (std::max(value + addend[i], 0.0) - addend[i]);
          weighed += std::abs(weight[i]) * (std::abs(value) + std::abs(addend[i]));
        }
        BOOST_TEST(std::abs(found[row] - expected) <= 0x1p-24 * size * weighed,
                   to_string(isa) << " size " << size << " row " << row << " of " << rows);
        float alone = 0;
        kernels.max_dot_rows(size, 1, x.data() + row * width, addend.data(), weight.data(), offset,
                             &alone);
        BOOST_TEST(alone == found[row]);  // to the bit: others must not change a decision
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::nn
