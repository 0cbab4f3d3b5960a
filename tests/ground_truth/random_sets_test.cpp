#include "engine/ground_truth/random_sets.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>
#include <set>

#include "engine/core/shard_bytes.h"
#include "tests/io/support.h"

namespace neuroshard {
namespace {

using test::check_refused;
using test::value_of;

std::vector<Table> tables_of_rows(const std::vector<std::int64_t>& rows) {
  std::vector<Table> tables;
  for (const std::int64_t each : rows) {
    Table table;
    table.rows = each;
    table.pooling_factor = 1;
    table.reuse_histogram[0] = 1;
    tables.push_back(table);
  }
  return tables;
}

std::int64_t bytes_of(const std::vector<Table>& pool, const std::vector<std::int32_t>& ids) {
  std::int64_t sum = 0;
  for (const std::int32_t id : ids) sum += table_bytes(pool[static_cast<std::size_t>(id)]);
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_sets)

BOOST_AUTO_TEST_CASE(the_pool_is_every_table_at_every_dim) {
  BOOST_TEST((dim_choices(128) == std::vector<std::int32_t>{128, 64, 32, 16, 8, 4}));
  BOOST_TEST((dim_choices(4) == std::vector<std::int32_t>{4}));
  BOOST_TEST((dim_choices(24) == std::vector<std::int32_t>{24, 12}));  // 6 is no multiple of 4
  BOOST_TEST((dim_choices(20, true) == std::vector<std::int32_t>{20, 16, 12, 8, 4}));
  BOOST_TEST(augmented_pool(tables_of_rows({10, 20}), 128, true).size() == 64U);
  const std::vector<Table> pool = augmented_pool(tables_of_rows({10, 20, 30}), 128);
  BOOST_TEST_REQUIRE(pool.size() == 18U);
  BOOST_TEST(pool[1].rows == 20);
  BOOST_TEST(pool[1].dim == 128);
  BOOST_TEST(pool[1 + 3 * 5].rows == 20);
  BOOST_TEST(pool[1 + 3 * 5].dim == 4);
}

BOOST_AUTO_TEST_CASE(lookups_are_drawn_as_the_mix_says) {
  const std::vector<Table> tables = tables_of_rows(std::vector<std::int64_t>(4000, 1000));
  std::vector<Table> pool = tables;
  draw_lookups({}, pool);
  BOOST_TEST((pool == tables));
  draw_lookups({16, 0.25}, pool);
  std::vector<Table> again = tables;
  draw_lookups({16, 0.25}, again);
  BOOST_TEST((pool == again));
  const auto share = [&](auto has) {
    return static_cast<double>(std::count_if(pool.begin(), pool.end(), has)) / 4000;
  };
  BOOST_TEST(std::abs(share([](const Table& t) { return !t.pooled; }) - 0.25) < 0.03);
  // Half of the doublings from 1 to 16 end at 4.
  BOOST_TEST(std::abs(share([](const Table& t) { return t.features <= 4; }) - 0.54) < 0.03);
  BOOST_TEST(share([](const Table& t) { return t.features == 1; }) > 0.1);
  BOOST_TEST(share([](const Table& t) { return t.features == 16; }) > 0);
  BOOST_TEST(share([](const Table& t) { return t.features > 16; }) == 0);
}

BOOST_AUTO_TEST_CASE(row_shards_take_their_share_of_rows_and_lookups) {
  std::vector<std::int64_t> rows(2000, 1'000'000);
  rows[7] = 3;
  const std::vector<Table> pool = tables_of_rows(rows);
  const std::vector<std::int32_t> parts = draw_row_parts(pool, 128);
  BOOST_TEST((draw_row_parts(pool, 128) == parts));
  BOOST_TEST(parts[7] <= 3);
  const auto [least, most] = std::minmax_element(parts.begin(), parts.end());
  BOOST_TEST(*least == 2);
  BOOST_TEST(*most > 120);
  BOOST_TEST(*most <= 128);
  // By their logarithm: half of them below the middle, 16.
  const auto few = std::count_if(parts.begin(), parts.end(), [](int n) { return n < 16; });
  BOOST_TEST(few > 900);
  BOOST_TEST(few < 1100);
  const Table part = row_part(pool[0], 3);
  BOOST_TEST(part.rows == 333'334);
  BOOST_TEST(part.pooling_factor == 0.333334);
  BOOST_TEST((part.reuse_histogram == pool[0].reuse_histogram));
  BOOST_TEST(row_part(pool[7], 3).rows == 1);
}

BOOST_AUTO_TEST_CASE(sets_are_uniform_in_size_and_fit_the_limit) {
  std::vector<std::int64_t> rows;
  for (int i = 1; i <= 100; ++i) rows.push_back(i * 1000);
  const std::vector<Table> pool = augmented_pool(tables_of_rows(rows), 128);
  const std::int64_t limit = 40'000'000;  // the largest entry alone has 51 MB
  const SetDraw draw = value_of(SetDraw::make(pool, 15, limit));
  std::vector<int> sizes(16);
  std::set<std::int32_t> seen;
  constexpr int kSets = 6000;
  for (int sample = 0; sample < kSets; ++sample) {
    const std::vector<std::int32_t> ids = value_of(draw.draw(1, sample));
    BOOST_REQUIRE((!ids.empty() && ids.size() <= 15));
    BOOST_REQUIRE(bytes_of(pool, ids) <= limit);
    ++sizes[ids.size()];
    seen.insert(ids.begin(), ids.end());
  }
  // Sizes keep their uniform share although large sets are redrawn more often.
  for (std::size_t size = 1; size <= 15; ++size) {
    BOOST_TEST(std::abs(sizes[size] - kSets / 15) < 5 * std::sqrt(kSets / 15.0));
  }
  const auto fitting = std::count_if(
      pool.begin(), pool.end(), [&](const Table& table) { return table_bytes(table) <= limit; });
  BOOST_TEST(static_cast<std::ptrdiff_t>(seen.size()) == fitting);
}

BOOST_AUTO_TEST_CASE(sets_of_few_different_entries_have_each_of_them_several_times) {
  const std::vector<Table> pool = augmented_pool(tables_of_rows({1000, 2000, 3000, 4000}), 128);
  const std::int64_t limit = 60'000'000;
  const SetDraw draw = value_of(SetDraw::make(pool, 60, limit, 3));
  std::vector<int> kinds(4);
  std::size_t largest = 0;
  for (int sample = 0; sample < 3000; ++sample) {
    const std::vector<std::int32_t> ids = value_of(draw.draw(1, sample));
    BOOST_REQUIRE(bytes_of(pool, ids) <= limit);
    largest = std::max(largest, ids.size());
    const std::size_t different = std::set(ids.begin(), ids.end()).size();
    BOOST_REQUIRE((different >= 1 && different <= 3));
    ++kinds[different];
  }
  BOOST_TEST(largest == 60U);
  for (const std::size_t different : {1U, 2U, 3U}) BOOST_TEST(kinds[different] > 700);
}

BOOST_AUTO_TEST_CASE(a_set_depends_on_seed_and_number_alone) {
  const std::vector<Table> pool = augmented_pool(tables_of_rows({1000, 2000, 3000}), 64);
  const SetDraw draw = value_of(SetDraw::make(pool, 8, 1 << 30));
  const std::vector<std::int32_t> fifth = value_of(draw.draw(7, 5));
  static_cast<void>(value_of(draw.draw(7, 900)));
  BOOST_TEST((value_of(draw.draw(7, 5)) == fifth));
  int different = 0;
  for (int sample = 0; sample < 20; ++sample) {
    if (value_of(draw.draw(7, sample)) != value_of(draw.draw(8, sample))) ++different;
  }
  BOOST_TEST(different > 15);
}

BOOST_AUTO_TEST_CASE(limits_that_cannot_be_met_are_refused) {
  const std::vector<Table> pool = augmented_pool(tables_of_rows({1000, 1000000000}), 4);
  check_refused(SetDraw::make({}, 3, 1 << 20).status(), {"no tables"});
  check_refused(SetDraw::make(pool, 15, 100000).status(), {"max-memory", "15"});
  // Fifteen small ones fit, but hardly any draw has only small ones.
  const SetDraw draw = value_of(SetDraw::make(pool, 40, 40 * 16000));
  Status status;
  for (int sample = 0; sample < 20 && status.ok(); ++sample) status = draw.draw(1, sample).status();
  check_refused(status, {"max-memory", "max-tables"});
}

BOOST_AUTO_TEST_CASE(exchanges_look_like_the_reference_s) {
  double balanced = 0;
  double uneven = 0;
  std::set<double> starts;
  for (int sample = 0; sample < 2000; ++sample) {
    const ExchangeSample exchange = draw_exchange(3, sample, 4, 128);
    BOOST_REQUIRE(exchange.dims.size() == 4U);
    BOOST_REQUIRE(exchange.starts_ms.size() == 4U);
    const std::int64_t sum = std::accumulate(exchange.dims.begin(), exchange.dims.end(), 0L);
    BOOST_REQUIRE((sum >= 10 * 4 && sum <= 59 * 128));
    BOOST_REQUIRE(sum % 4 == 0);
    const auto [least, most] = std::minmax_element(exchange.dims.begin(), exchange.dims.end());
    (static_cast<double>(*most) < 1.1 * static_cast<double>(*least) ? balanced : uneven) += 1;
    BOOST_REQUIRE(*std::min_element(exchange.starts_ms.begin(), exchange.starts_ms.end()) == 0);
    for (const double start : exchange.starts_ms) {
      BOOST_REQUIRE(start == std::floor(start));
      starts.insert(start);
    }
  }
  BOOST_TEST(balanced > 200);
  BOOST_TEST(uneven > 800);
  BOOST_TEST(*starts.rbegin() == 18);
  BOOST_TEST(starts.size() == 19U);
  const ExchangeSample one = draw_exchange(3, 0, 1, 4);
  BOOST_TEST(one.starts_ms.at(0) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
