// The embedding-bag kernels on a GPU against the CPU's reference lookup: random ragged input,
// uniform and skewed, every width, both optimizers, fp32 and fp16, twice for equal bits.
#include "cuda/lookup/embedding_bag.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "cuda/memory.h"
#include "engine/core/rng.h"
#include "engine/ground_truth/cpu/index_stream.h"
#include "tests/support/sanitized.h"
#include "tests/support/scalar_lookup.h"

namespace neuroshard::cuda {
namespace {

struct Shape {
  std::int64_t rows;
  std::int64_t dim;
  double mean_length;
  double hot;  ///< share of lookups that hit one of two rows
  Optimizer optimizer = Optimizer::kSgd;
  bool half = false;
};

std::uint16_t half_of(float value) {  // exact for the multiples of 2^-8 below 1 used here
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  if ((bits & 0x7fffffffU) == 0) return 0;
  const std::uint32_t exponent = ((bits >> 23) & 255U) - 112U;
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000U) | exponent << 10 | (bits >> 13 & 1023U));
}

float float_of_half(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                   : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return (half & 0x8000) != 0 ? -size : size;
}

/// A batch of tables on both sides.
struct Batch {
  std::int64_t bags = 0;
  std::vector<Shape> shapes;
  std::vector<IndexStream> streams;
  std::vector<std::vector<float>> weights;
  std::vector<std::vector<float>> states;
  std::vector<float> gradient;
  std::int64_t columns = 0;

  static Batch make(std::vector<Shape> shapes, std::int64_t bags, std::uint64_t seed) {
    Rng rng(seed);
    Batch batch;
    batch.bags = bags;
    batch.shapes = std::move(shapes);
    for (const Shape& shape : batch.shapes) {
      IndexStream stream;
      stream.offsets.push_back(0);
      for (std::int64_t bag = 0; bag < bags; ++bag) {
        const auto longest = static_cast<std::int64_t>(2 * shape.mean_length);
        const std::int64_t length = bag % 7 == 0 ? 0 : rng.between(0, longest);
        for (std::int64_t i = 0; i < length; ++i) {
          const bool hot = rng.uniform() < shape.hot;
          stream.indices.push_back(hot ? rng.between(0, std::min<std::int64_t>(1, shape.rows - 1))
                                       : rng.between(0, shape.rows - 1));
        }
        stream.offsets.push_back(stream.lookups());
      }
      batch.streams.push_back(std::move(stream));
      std::vector<float> weights;
      for (std::int64_t i = 0; i < shape.rows * shape.dim; ++i) {
        weights.push_back(static_cast<float>(rng.between(-128, 128)) / 256.0F);
      }
      batch.weights.push_back(std::move(weights));
      batch.states.emplace_back(static_cast<std::size_t>(shape.rows), 0.5F);
      batch.columns += shape.dim;
    }
    for (std::int64_t i = 0; i < bags * batch.columns; ++i) {
      batch.gradient.push_back(static_cast<float>(rng.uniform()) - 0.5F);
    }
    return batch;
  }
};

#define REQUIRE_OK(expression)                                  \
  do {                                                          \
    const Status required_ = (expression);                      \
    BOOST_REQUIRE_MESSAGE(required_.ok(), required_.message()); \
  } while (false)

/// The batch on the GPU.
struct OnDevice {
  std::vector<Buffer<std::int32_t>> indices;
  std::vector<Buffer<std::int64_t>> offsets;
  std::vector<Buffer<float>> weights;
  std::vector<Buffer<std::uint16_t>> half_weights;
  std::vector<Buffer<float>> states;
  Buffer<float> out;
  Buffer<float> gradient;
  std::vector<BagTable> tables;

  explicit OnDevice(const Batch& batch) {
    const std::size_t count = batch.shapes.size();
    indices.resize(count);
    offsets.resize(count);
    weights.resize(count);
    half_weights.resize(count);
    states.resize(count);
    for (std::size_t t = 0; t < count; ++t) add(batch, t);
    REQUIRE_OK(gradient.assign(batch.gradient));
    REQUIRE_OK(out.reserve(batch.gradient.size()));
    const std::vector<float> poison(batch.gradient.size(), NAN);
    REQUIRE_OK(upload(out.data(), poison.data(), poison.size() * 4));
  }

  void add(const Batch& batch, std::size_t t) {
    const Shape& shape = batch.shapes[t];
    const std::vector<std::int32_t> narrow(batch.streams[t].indices.begin(),
                                           batch.streams[t].indices.end());
    REQUIRE_OK(indices[t].assign(narrow));
    REQUIRE_OK(offsets[t].assign(batch.streams[t].offsets));
    REQUIRE_OK(states[t].assign(batch.states[t]));
    BagTable table;
    if (shape.half) {
      std::vector<std::uint16_t> halves;
      for (const float weight : batch.weights[t]) halves.push_back(half_of(weight));
      REQUIRE_OK(half_weights[t].assign(halves));
      table.weights = half_weights[t].data();
      table.data_type = DataType::kFp16;
    } else {
      REQUIRE_OK(weights[t].assign(batch.weights[t]));
      table.weights = weights[t].data();
    }
    table.state = states[t].data();
    table.rows = shape.rows;
    table.dim = shape.dim;
    table.optimizer = shape.optimizer;
    table.indices = indices[t].data();
    table.offsets = offsets[t].data();
    table.lookups = batch.streams[t].lookups();
    tables.push_back(table);
  }

  [[nodiscard]] std::vector<float> read_weights(const Batch& batch, std::size_t t) const {
    std::vector<float> values(batch.weights[t].size());
    if (!batch.shapes[t].half) {
      REQUIRE_OK(weights[t].read(values));
      return values;
    }
    std::vector<std::uint16_t> halves(values.size());
    REQUIRE_OK(half_weights[t].read(halves));
    std::transform(halves.begin(), halves.end(), values.begin(), float_of_half);
    return values;
  }
};

std::int64_t longest_run(const IndexStream& stream, std::int64_t rows) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(rows));
  for (const std::int64_t row : stream.indices) ++counts[static_cast<std::size_t>(row)];
  return *std::max_element(counts.begin(), counts.end());
}

/// Compares one table's weights after the update. Sums of up to 30,000 gradients in another order
/// differ by about the square root of their number in units of rounding; fp16 rounds at 2^-11.
void check_weights(const Batch& expected, const OnDevice& found, std::size_t t) {
  const Shape& shape = expected.shapes[t];
  const std::vector<float> values = found.read_weights(expected, t);
  const double run = static_cast<double>(longest_run(expected.streams[t], shape.rows));
  const double tolerance = shape.half ? 4e-3 * (1 + 0.05 * run) : 3e-6 * (1 + 0.1 * run);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::fabs(double{values[i]} - expected.weights[t][i]) <= tolerance) continue;
    BOOST_FAIL("table " << t << " dim " << shape.dim << " weight " << i << ": " << values[i]
                        << ", expected " << expected.weights[t][i]);
  }
}

void check(std::vector<Shape> shapes, std::int64_t bags, std::uint64_t seed) {
  const Batch start = Batch::make(std::move(shapes), bags, seed);
  Batch reference = start;
  const std::vector<float> expected = test::run_on_cpu(reference, reference.gradient.data());
  std::vector<std::vector<float>> first_weights;
  for (int repeat = 0; repeat < 2; ++repeat) {
    OnDevice device(start);
    auto lookup = make_embedding_bag();
    BOOST_REQUIRE(lookup.ok());
    REQUIRE_OK((*lookup)->prepare(device.tables, bags, {}));
    BOOST_REQUIRE((*lookup)->columns() == start.columns);
    REQUIRE_OK((*lookup)->forward(device.out.data()));
    REQUIRE_OK((*lookup)->backward(device.gradient.data()));
    REQUIRE_OK(synchronize());
    std::vector<float> out(expected.size());
    REQUIRE_OK(device.out.read(out));
    BOOST_REQUIRE(std::memcmp(out.data(), expected.data(), out.size() * 4) == 0);
    for (std::size_t t = 0; t < start.shapes.size(); ++t) {
      check_weights(reference, device, t);
      const std::vector<float> weights = device.read_weights(start, t);
      if (repeat == 0) {
        first_weights.push_back(weights);
      } else {
        BOOST_REQUIRE(std::memcmp(weights.data(), first_weights[t].data(), weights.size() * 4) ==
                      0);
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(embedding_bag)

BOOST_AUTO_TEST_CASE(one_table_of_every_width_agrees_with_the_cpu) {
  for (const std::int64_t dim : {4, 8, 12, 16, 32, 48, 64, 96, 128, 132, 200, 256, 512, 1024}) {
    for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kRowwiseAdagrad}) {
      BOOST_TEST_CONTEXT("dim " << dim) {
        check({{test::unless_sanitized(1000, 200), dim, 10, 0, optimizer}},
              test::unless_sanitized(513, 129), static_cast<std::uint64_t>(dim));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(odd_widths_agree_with_the_cpu) {
  check({{300, 1, 5, 0}, {300, 5, 5, 0.5}, {100, 67, 5, 0}, {50, 8, 3, 0}}, 260, 1);
}

BOOST_AUTO_TEST_CASE(mixed_tables_in_one_launch_agree_with_the_cpu) {
  std::vector<Shape> shapes;
  Rng rng(5);
  for (int t = 0; t < test::unless_sanitized(32, 12); ++t) {
    const std::int64_t dim = std::int64_t{4} << rng.below(6);
    shapes.push_back({rng.between(1, 5000), dim, rng.uniform() * 30, rng.uniform() < 0.3 ? 0.4 : 0,
                      t % 3 == 0 ? Optimizer::kRowwiseAdagrad : Optimizer::kSgd, t % 4 == 1});
  }
  shapes.push_back({1, 64, 0, 0});   // never looked up
  shapes.push_back({1, 16, 20, 0});  // a single row
  check(shapes, test::unless_sanitized(1025, 257), 6);
}

BOOST_AUTO_TEST_CASE(hot_rows_are_added_up_by_blocks_and_agree_with_the_cpu) {
  // Runs of about 8,000 (sanitized 5,000), above 16 pieces of 256, beside runs of all lengths.
  for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kRowwiseAdagrad}) {
    check({{50, 128, test::unless_sanitized(8.0, 5.0), 0.9, optimizer},
           {400, 12, test::unless_sanitized(8.0, 4.0), 0.7, optimizer},
           {3, 4, 2, 0, optimizer},
           {test::unless_sanitized(100000, 10000), 32, test::unless_sanitized(8.0, 2.0), 0,
            optimizer},
           {20, 260, test::unless_sanitized(4.0, 1.0), 0.5, optimizer}},
          2400, 7);
  }
}

BOOST_AUTO_TEST_CASE(sample_weights_and_means_scale_rows_and_gradients) {
  const std::int64_t bags = 333;
  const Batch start = Batch::make({{100, 64, 6, 0.3}, {80, 20, 6, 0}}, bags, 8);
  OnDevice device(start);
  Rng rng(9);
  std::vector<float> factors;
  for (std::int64_t i = 0; i < start.streams[0].lookups(); ++i) {
    factors.push_back(static_cast<float>(rng.uniform()));
  }
  Buffer<float> factors_on_device;
  REQUIRE_OK(factors_on_device.assign(factors));
  device.tables[0].sample_weights = factors_on_device.data();
  device.tables[1].pooling = Pooling::kMean;
  auto lookup = make_embedding_bag();
  BOOST_REQUIRE(lookup.ok());
  REQUIRE_OK((*lookup)->prepare(device.tables, bags, {}));
  REQUIRE_OK((*lookup)->forward(device.out.data()));
  REQUIRE_OK((*lookup)->backward(device.gradient.data()));
  REQUIRE_OK(synchronize());
  std::vector<float> out(start.gradient.size());
  REQUIRE_OK(device.out.read(out));
  std::int64_t column = 0;
  for (std::size_t t = 0; t < 2; ++t) {
    const std::int64_t dim = start.shapes[t].dim;
    const IndexStream& stream = start.streams[t];
    std::vector<double> sums(start.weights[t].size());
    for (std::int64_t bag = 0; bag < bags; ++bag) {
      const std::int64_t begin = stream.offsets[static_cast<std::size_t>(bag)];
      const std::int64_t end = stream.offsets[static_cast<std::size_t>(bag) + 1];
      for (std::int64_t c = 0; c < dim; ++c) {
        const auto at = static_cast<std::size_t>(bag * start.columns + column + c);
        double pooled = 0;
        for (std::int64_t i = begin; i < end; ++i) {
          const auto k = static_cast<std::size_t>(i);
          const double factor = t == 0 ? factors[k] : 1.0 / static_cast<double>(end - begin);
          const auto cell = static_cast<std::size_t>(stream.indices[k] * dim + c);
          pooled += factor * start.weights[t][cell];
          sums[cell] += factor * start.gradient[at];
        }
        BOOST_REQUIRE_SMALL(out[at] - pooled, 1e-5);
      }
    }
    const std::vector<float> weights = device.read_weights(start, t);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      BOOST_REQUIRE_SMALL(weights[i] - (start.weights[t][i] - 0.1 * sums[i]), 1e-4);
    }
    column += dim;
  }
}

BOOST_AUTO_TEST_CASE(nothing_to_look_up_is_no_error) {
  auto lookup = make_embedding_bag();
  BOOST_REQUIRE(lookup.ok());
  REQUIRE_OK((*lookup)->prepare({}, 16, {}));
  REQUIRE_OK((*lookup)->forward(nullptr));
  REQUIRE_OK((*lookup)->backward(nullptr));
  check({{10, 32, 0, 0}}, 9, 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::cuda
