// The GPU's lookup kernels themselves, thread by thread on the CPU: the embedding bag's way forward
// and back (with a sort of the standard library in place of CUB's) against the CPU's lookups, and
// the making of lookups against the CPU's.
#include "tests/emulated_cuda/include/cuda_words.h"
//
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <numeric>
#include <vector>

#include "cuda/lookup/bag_forward.cuh"
#include "cuda/lookup/bag_partials.cuh"
#include "cuda/training/stream_kernels.cuh"
#include "engine/core/rng.h"
#include "engine/ground_truth/cpu/index_stream.h"
#include "tests/support/scalar_lookup.h"

namespace neuroshard::cuda {
namespace {

using emulation::run_blocks;

struct Shape {
  std::int64_t rows;
  std::int64_t dim;
  double mean_length;
  double hot;  ///< share of lookups that hit row 0
  Optimizer optimizer = Optimizer::kSgd;
  bool half = false;
};

struct alignas(16) Aligned {
  unsigned char bytes[16];
};

/// Tables on both sides; the device's memory is the host's.
struct Batch {
  std::int64_t bags;
  std::vector<Shape> shapes;
  std::vector<IndexStream> streams;
  std::vector<std::vector<std::int32_t>> indices;
  std::vector<std::vector<float>> weights;  ///< of the CPU
  std::vector<std::vector<float>> states;
  std::vector<std::vector<Aligned>> device_weights;
  std::vector<std::vector<float>> device_states;
  std::vector<BagTable> tables;
  std::int64_t columns = 0;
  std::vector<Aligned> gradient_memory;

  Batch(std::vector<Shape> all, std::int64_t count, std::uint64_t seed)
      : bags(count), shapes(std::move(all)) {
    Rng rng(seed);
    for (const Shape& shape : shapes) add(shape, rng);
    for (std::size_t t = 0; t < shapes.size(); ++t) describe(t);
    gradient_memory.resize(static_cast<std::size_t>(bags * columns / 4 + 1));
    for (std::int64_t i = 0; i < bags * columns; ++i) {
      gradient()[i] = static_cast<float>(rng.uniform()) - 0.5F;
    }
  }
  float* gradient() { return reinterpret_cast<float*>(gradient_memory.data()); }

  void add(const Shape& shape, Rng& rng) {
    IndexStream stream;
    stream.offsets.push_back(0);
    for (std::int64_t bag = 0; bag < bags; ++bag) {
      const auto longest = static_cast<std::int64_t>(2 * shape.mean_length);
      const std::int64_t length = bag % 5 == 0 ? 0 : rng.between(0, longest);
      for (std::int64_t i = 0; i < length; ++i) {
        stream.indices.push_back(rng.uniform() < shape.hot ? 0 : rng.between(0, shape.rows - 1));
      }
      stream.offsets.push_back(stream.lookups());
    }
    indices.emplace_back(stream.indices.begin(), stream.indices.end());
    streams.push_back(std::move(stream));
    std::vector<float> values;
    for (std::int64_t i = 0; i < shape.rows * shape.dim; ++i) {
      values.push_back(static_cast<float>(rng.between(-128, 128)) / 256.0F);
    }
    std::vector<Aligned> memory(values.size() * 4 / sizeof(Aligned) + 1);
    auto* bytes = reinterpret_cast<unsigned char*>(memory.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (shape.half) {
        const __half half = __float2half_rn(values[i]);  // exact
        std::memcpy(bytes + 2 * i, &half, 2);
      } else {
        std::memcpy(bytes + 4 * i, &values[i], 4);
      }
    }
    weights.push_back(std::move(values));
    device_weights.push_back(std::move(memory));
    states.emplace_back(static_cast<std::size_t>(shape.rows), 0.5F);
    device_states.push_back(states.back());
    columns += shape.dim;
  }

  void describe(std::size_t t) {
    BagTable table;
    table.weights = device_weights[t].data();
    table.state = device_states[t].data();
    table.rows = shapes[t].rows;
    table.dim = shapes[t].dim;
    table.data_type = shapes[t].half ? DataType::kFp16 : DataType::kFp32;
    table.optimizer = shapes[t].optimizer;
    table.indices = indices[t].data();
    table.offsets = streams[t].offsets.data();
    table.lookups = streams[t].lookups();
    tables.push_back(table);
  }

  [[nodiscard]] float device_weight(std::size_t t, std::size_t i) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(device_weights[t].data());
    if (!shapes[t].half) {
      float value = 0;
      std::memcpy(&value, bytes + 4 * i, 4);
      return value;
    }
    __half half;
    std::memcpy(&half, bytes + 2 * i, 2);
    return __half2float(half);
  }
};

std::vector<float> forward(const BagLayout& layout) {
  std::vector<Aligned> memory(static_cast<std::size_t>(layout.bags * layout.columns / 4 + 1));
  auto* out = reinterpret_cast<float*>(memory.data());
  run_blocks({static_cast<unsigned>(layout.slice_of_tile.size())}, {kBlockThreads}, [&] {
    pool_kernel(layout.slices.data(), layout.slice_of_tile.data(), layout.bags, out,
                layout.columns);
  });
  return {out, out + layout.bags * layout.columns};
}

/// As GpuEmbeddingBag's backward, kernel by kernel, on `blocks` blocks.
template <typename Key, typename Lookup>
void backward(const BagLayout& layout, const float* gradient, unsigned blocks) {
  const auto count = static_cast<std::size_t>(layout.lookups);
  const auto tables = static_cast<int>(layout.tables.size());
  std::vector<Key> keys(count);
  std::vector<Lookup> lookups(count);
  run_blocks({2, static_cast<unsigned>(tables)}, {kBlockThreads},
             [&] { key_kernel(layout.tables.data(), layout.bags, keys.data(), lookups.data()); });
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  std::vector<Key> sorted_keys;
  std::vector<Lookup> sorted_lookups;
  for (const std::size_t k : order) {
    sorted_keys.push_back(keys[k]);
    sorted_lookups.push_back(lookups[k]);
  }
  std::vector<std::uint32_t> piece_begin;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (PieceBegins<Key>{sorted_keys.data()}(i)) piece_begin.push_back(i);
  }
  const auto pieces = static_cast<std::uint32_t>(piece_begin.size());
  std::vector<std::int64_t> first_piece(layout.tables.size() + 1);
  std::vector<std::int64_t> first_unit(layout.tables.size() + 1);
  run_blocks({1}, {kBlockThreads}, [&] {
    unit_kernel(layout.tables.data(), tables, layout.lookups, piece_begin.data(), &pieces,
                first_piece.data(), first_unit.data());
  });
  const std::int64_t stride = (layout.widest + 3) / 4 * 4;
  const std::int64_t cuts = (layout.lookups - 1) / kPieceLookups;
  std::vector<Aligned> partial_memory(static_cast<std::size_t>((cuts + 1) * 2 * stride / 4 + 1));
  auto* partials = reinterpret_cast<float*>(partial_memory.data());
  const SortedLookups<Key, Lookup> sorted{
      sorted_keys.data(), sorted_lookups.data(), layout.lookups, piece_begin.data(), &pieces,
      first_piece.data(), first_unit.data()};
  const BagUpdate update{0.1F, 0.1F};
  run_blocks({blocks}, {kBlockThreads}, [&] {
    update_kernel(layout.tables.data(), tables, sorted, layout.bags, gradient, layout.columns,
                  update, partials, stride);
  });
  if (cuts == 0) return;
  run_blocks({blocks}, {kCombineWarps * kWarpLanes}, [&] {
    combine_kernel(layout.tables.data(), sorted.keys, sorted.lookups, layout.lookups, layout.bags,
                   update, partials, stride);
  });
}

void check(std::vector<Shape> shapes, std::int64_t bags, std::uint64_t seed, bool wide) {
  Batch batch(std::move(shapes), bags, seed);
  const auto layout = lay_out(batch.tables, bags);
  BOOST_REQUIRE(layout.ok());
  const std::vector<float> found = forward(*layout);
  if (wide) {
    backward<std::uint64_t, ScaledLookup>(*layout, batch.gradient(), 2);
  } else {
    backward<std::uint32_t, PlainLookup>(*layout, batch.gradient(), 2);
  }
  const std::vector<float> expected = test::run_on_cpu(batch, batch.gradient());
  BOOST_REQUIRE(std::memcmp(found.data(), expected.data(), found.size() * 4) == 0);
  for (std::size_t t = 0; t < batch.shapes.size(); ++t) {
    const float tolerance = batch.shapes[t].half ? 2e-2F : 2e-4F;  // rounded once more, at 2^-11
    for (std::size_t i = 0; i < batch.weights[t].size(); ++i) {
      BOOST_REQUIRE_SMALL(batch.device_weight(t, i) - batch.weights[t][i], tolerance);
    }
    for (std::size_t r = 0; r < batch.states[t].size(); ++r) {
      BOOST_REQUIRE_CLOSE(batch.device_states[t][r], batch.states[t][r], 0.01);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(lookup_kernels)

BOOST_AUTO_TEST_CASE(lookups_of_every_width_agree_with_the_cpu) {
  for (const std::int64_t dim : {1, 4, 5, 12, 32, 128, 132, 260}) {
    for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kRowwiseAdagrad}) {
      BOOST_TEST_CONTEXT("dim " << dim) {
        check({{40, dim, 4, 0.2, optimizer}}, 90, static_cast<std::uint64_t>(dim), false);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(mixed_tables_agree_with_the_cpu) {
  std::vector<Shape> shapes;
  Rng rng(5);
  for (int t = 0; t < 20; ++t) {
    shapes.push_back({rng.between(1, 60), std::int64_t{4} << rng.below(6), rng.uniform() * 8,
                      rng.uniform() < 0.3 ? 0.4 : 0,
                      t % 3 == 0 ? Optimizer::kRowwiseAdagrad : Optimizer::kSgd, t % 4 == 1});
  }
  shapes.push_back({3, 64, 0, 0});  // never looked up
  shapes.push_back({7, 24, 3, 0, Optimizer::kSgd, true});
  shapes.push_back({7, 20, 3, 0, Optimizer::kSgd, true});
  shapes.push_back({9, 7, 3, 0, Optimizer::kRowwiseAdagrad, true});
  for (const bool wide : {false, true}) check(shapes, 130, 6, wide);
}

BOOST_AUTO_TEST_CASE(more_tables_than_a_block_has_threads_agree_with_the_cpu) {
  std::vector<Shape> shapes;
  for (int t = 0; t < 2 * kBlockThreads + 50; ++t) {
    shapes.push_back({1 + t % 7, t % 3 == 0 ? 32 : 4, 2, 0.2,
                      t % 2 == 0 ? Optimizer::kRowwiseAdagrad : Optimizer::kSgd});
  }
  check(shapes, 12, 8, false);
}

BOOST_AUTO_TEST_CASE(rows_across_cuts_are_finished_by_warps_and_blocks) {
  // Runs of a few pieces, and of more than a warp adds up by itself.
  for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kRowwiseAdagrad}) {
    check({{50, 8, 5, 0.9, optimizer}, {400, 12, 5, 0.3, optimizer}, {3, 130, 2, 0, optimizer}},
          1500, 7, false);
  }
}

BOOST_AUTO_TEST_CASE(lookups_and_those_of_a_range_of_rows_are_the_cpus) {
  Table table;
  table.rows = 5000;
  table.pooling_factor = 7.5;
  table.reuse_histogram = expected_reuse(5000, 7.5 * 300, 1.1).histogram;
  constexpr std::int64_t kBags = 300;
  const auto blocks = [](std::int64_t threads) {
    return dim3{static_cast<unsigned>((threads + kStreamThreads - 1) / kStreamThreads)};
  };
  const StreamRecipe recipe = make_stream_recipe(table, kBags, 3);
  const IndexStream whole = make_index_stream(table, kBags, 3);
  std::vector<std::uint32_t> starts;
  std::int64_t start = 0;
  for (const std::int64_t count : recipe.counts) {
    starts.push_back(static_cast<std::uint32_t>(start));
    start += count;
  }
  std::vector<std::int32_t> indices(whole.indices.size());
  run_blocks(blocks(start), {kStreamThreads}, [&] {
    expand_kernel(starts.data(), std::ssize(starts), start, recipe.row_of, recipe.place_of,
                  indices.data());
  });
  BOOST_REQUIRE(std::vector<std::int64_t>(indices.begin(), indices.end()) == whole.indices);
  for (const RowRange range : {RowRange{0, 5000}, {0, 1}, {1250, 2500}, {4999, 5000}}) {
    const IndexStream expected = restrict_rows(whole, range.begin, range.end);
    std::vector<std::int64_t> counts(kBags + 1, 77);
    run_blocks(blocks(kBags + 1), {kStreamThreads}, [&] {
      count_in_range_kernel(indices.data(), whole.offsets.data(), kBags, range, counts.data());
    });
    std::vector<std::int64_t> offsets(kBags + 1);
    std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), std::int64_t{0});
    BOOST_REQUIRE(offsets == expected.offsets);
    std::vector<std::int32_t> part(expected.indices.size());
    run_blocks(blocks(kBags), {kStreamThreads}, [&] {
      keep_range_kernel(indices.data(), whole.offsets.data(), kBags, range, offsets.data(),
                        part.data());
    });
    BOOST_REQUIRE(std::vector<std::int64_t>(part.begin(), part.end()) == expected.indices);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::cuda
