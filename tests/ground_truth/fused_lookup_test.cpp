#include "engine/ground_truth/cpu/fused_lookup.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <string>

#include "engine/core/rng.h"
#include "engine/ground_truth/cpu/lookup_kernels.h"
#include "tests/ground_truth/reference_lookup.h"

namespace neuroshard {
namespace {

using test::ReferenceTable;

constexpr LookupHyperparameters kHyper{0.05F, 0.01F};

std::vector<float> random_floats(std::size_t count, Rng& rng) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(rng.normal());
  return values;
}

/// Ragged bags of 0..2 * mean lookups, with rows repeated inside bags and between them.
IndexStream ragged_stream(std::int64_t bags, std::int64_t rows, std::int64_t mean, Rng& rng) {
  IndexStream stream;
  stream.offsets.push_back(0);
  for (std::int64_t bag = 0; bag < bags; ++bag) {
    const std::int64_t length = rng.between(0, 3) == 0 ? 0 : rng.between(0, 2 * mean);
    for (std::int64_t i = 0; i < length; ++i) {
      const bool hot = rng.between(0, 2) == 0;
      stream.indices.push_back(
          rng.between(0, hot ? std::min<std::int64_t>(rows, 3) - 1 : rows - 1));
    }
    stream.offsets.push_back(static_cast<std::int64_t>(stream.indices.size()));
  }
  return stream;
}

ReferenceTable random_table(std::int64_t dim, std::int64_t bags, Optimizer optimizer, Rng& rng) {
  ReferenceTable table;
  table.rows = rng.between(1, 400);
  table.dim = dim;
  table.optimizer = optimizer;
  table.stream = ragged_stream(bags, table.rows, rng.between(0, 12), rng);
  table.weights = random_floats(static_cast<std::size_t>(table.rows * dim), rng);
  table.state.assign(static_cast<std::size_t>(table.rows), 0.25F);
  return table;
}

/// A fused lookup over copies of the tables' weights.
struct Fused {
  std::vector<ReferenceTable> tables;
  std::vector<LookupShard> shards;

  explicit Fused(std::vector<ReferenceTable> from) : tables(std::move(from)) {
    for (ReferenceTable& t : tables) {
      shards.push_back({&t.stream, t.rows, t.dim, t.weights.data(), t.state.data(), t.optimizer});
    }
  }
  Fused(const Fused&) = delete;
  Fused& operator=(const Fused&) = delete;
};

std::vector<float> columns_of(const std::vector<float>& wide, std::int64_t width,
                              std::int64_t first, std::int64_t dim) {
  std::vector<float> narrow;
  for (std::size_t row = 0; row < wide.size() / static_cast<std::size_t>(width); ++row) {
    const auto* begin = wide.data() + static_cast<std::int64_t>(row) * width + first;
    narrow.insert(narrow.end(), begin, begin + dim);
  }
  return narrow;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  BOOST_REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]) / (1 + std::abs(b[i])));
  }
  return largest;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<nn::Isa> supported() {
  std::vector<nn::Isa> list;
  for (const nn::IsaInfo& info : nn::isa_list()) {
    if (info.supported()) list.push_back(info.isa);
  }
  return list;
}

/// Forward and backward of a fused lookup against each table alone in the plainest form.
void check_against_reference(std::vector<ReferenceTable> tables, std::int64_t bags, nn::Isa isa,
                             int threads, Rng& rng) {
  ThreadPool pool(threads);
  Fused fused(tables);
  FusedLookup lookup(fused.shards, bags, lookup_kernels(isa), kHyper);
  std::vector<float> out(static_cast<std::size_t>(bags * lookup.columns()), 7.0F);
  lookup.forward(pool, out.data());
  const std::vector<float> gradient = random_floats(out.size(), rng);
  lookup.backward(pool, gradient.data());
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const std::int64_t first = lookup.first_column(t);
    BOOST_TEST_CONTEXT("table " << t << " dim " << tables[t].dim << " rows " << tables[t].rows
                                << " isa " << nn::to_string(isa)) {
      // Sums keep their order, so they are the same bits whatever the instruction set.
      BOOST_TEST(
          same_bits(columns_of(out, lookup.columns(), first, tables[t].dim), tables[t].forward()));
      tables[t].backward(columns_of(gradient, lookup.columns(), first, tables[t].dim),
                         kHyper.learning_rate, kHyper.epsilon);
      BOOST_TEST(largest_difference(fused.tables[t].weights, tables[t].weights) < 2e-6);
      BOOST_TEST(largest_difference(fused.tables[t].state, tables[t].state) < 2e-5);
      if (isa == nn::Isa::kScalar) {
        BOOST_TEST(same_bits(fused.tables[t].weights, tables[t].weights));
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fused_lookup)

BOOST_AUTO_TEST_CASE(equals_the_plain_form_for_every_dim) {
  Rng rng(1);
  for (const nn::Isa isa : supported()) {
    for (const int dim : {1,  3,  4,  5,  7,  8,  9,  12, 15, 16, 17, 20,  24,  28,  31,  32, 36,
                          40, 44, 48, 52, 56, 60, 63, 64, 65, 72, 96, 100, 127, 128, 130, 200}) {
      for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kRowwiseAdagrad}) {
        check_against_reference({random_table(dim, 70, optimizer, rng)}, 70, isa, 1, rng);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(equals_the_plain_form_when_tables_are_fused) {
  Rng rng(2);
  for (const nn::Isa isa : supported()) {
    for (int trial = 0; trial < 12; ++trial) {
      std::vector<ReferenceTable> tables;
      const std::int64_t bags = rng.between(1, 700);
      for (std::int64_t t = rng.between(1, 6); t > 0; --t) {
        tables.push_back(random_table(
            rng.between(1, 40), bags,
            rng.between(0, 1) == 0 ? Optimizer::kSgd : Optimizer::kRowwiseAdagrad, rng));
      }
      check_against_reference(std::move(tables), bags, isa, 3, rng);
    }
  }
}

BOOST_AUTO_TEST_CASE(no_shards_no_lookups_and_empty_bags_work) {
  Rng rng(3);
  for (const nn::Isa isa : supported()) {
    ThreadPool pool(2);
    FusedLookup none({}, 16, lookup_kernels(isa));
    BOOST_TEST(none.columns() == 0);
    none.forward(pool, nullptr);
    none.backward(pool, nullptr);

    ReferenceTable empty = random_table(6, 40, Optimizer::kSgd, rng);
    empty.stream.indices.clear();
    empty.stream.offsets.assign(41, 0);
    ReferenceTable last_only = random_table(5, 40, Optimizer::kSgd, rng);
    last_only.stream.indices = {0, 0};
    last_only.stream.offsets.assign(41, 0);
    last_only.stream.offsets.back() = 2;
    check_against_reference({empty, last_only}, 40, isa, 2, rng);
  }
}

BOOST_AUTO_TEST_CASE(long_runs_and_many_buckets_are_sorted_right) {
  // Enough lookups for hundreds of buckets, and one row with a third of them.
  Rng rng(4);
  ReferenceTable table;
  table.rows = 100000;
  table.dim = 4;
  table.stream = ragged_stream(9000, table.rows, 60, rng);
  table.weights = random_floats(static_cast<std::size_t>(table.rows * table.dim), rng);
  table.state.assign(static_cast<std::size_t>(table.rows), 0.0F);
  BOOST_TEST(table.stream.lookups() > 300000);
  for (const nn::Isa isa : supported()) check_against_reference({table}, 9000, isa, 2, rng);
}

BOOST_AUTO_TEST_CASE(results_are_the_same_bits_for_any_number_of_threads) {
  Rng rng(5);
  std::vector<ReferenceTable> tables;
  for (const int dim : {128, 4, 33}) {
    tables.push_back(random_table(dim, 3000, Optimizer::kRowwiseAdagrad, rng));
  }
  for (const nn::Isa isa : supported()) {
    std::vector<std::vector<float>> first;
    for (const int threads : {1, 2, 5}) {
      ThreadPool pool(threads);
      Fused fused(tables);
      FusedLookup lookup(fused.shards, 3000, lookup_kernels(isa), kHyper);
      Rng gradients(17);
      const std::vector<float> gradient =
          random_floats(static_cast<std::size_t>(3000 * lookup.columns()), gradients);
      std::vector<float> out(gradient.size());
      lookup.forward(pool, out.data());
      lookup.backward(pool, gradient.data());
      std::vector<std::vector<float>> results{out};
      for (const ReferenceTable& t : fused.tables) {
        results.push_back(t.weights);
        results.push_back(t.state);
      }
      if (first.empty()) first = results;
      for (std::size_t i = 0; i < results.size(); ++i) BOOST_TEST(same_bits(results[i], first[i]));
    }
  }
}

BOOST_AUTO_TEST_CASE(offsets_are_64_bit) {
  // Row and bag share one word; only their product limits it.
  BOOST_TEST(RowSort::packs(std::int64_t{1} << 40, 65536));
  BOOST_TEST(RowSort::packs(std::int64_t{1} << 47, 1 << 17));
  BOOST_TEST(!RowSort::packs(std::int64_t{1} << 48, 1 << 17));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
