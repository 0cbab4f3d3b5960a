#include "engine/ground_truth/random_placement.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <set>

#include "engine/core/shard_bytes.h"
#include "engine/ground_truth/shard_pool.h"
#include "tests/ground_truth/collecting.h"

namespace neuroshard {
namespace {

using test::check_refused;
using test::some_tables;
using test::value_of;

std::int64_t count_of(const Placement& placement) {
  return std::accumulate(placement.begin(), placement.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& ids) { return sum + std::ssize(ids); });
}

std::vector<double> dims_of(const std::vector<Table>& entries, const Placement& placement) {
  std::vector<double> dims;
  for (const auto& ids : placement) {
    dims.push_back(0);
    for (const std::int32_t id : ids) dims.back() += entries[static_cast<std::size_t>(id)].dim;
  }
  return dims;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_placement)

BOOST_AUTO_TEST_CASE(the_number_of_shards_grows_with_the_devices) {
  const ShardPool pool = value_of(ShardPool::make(some_tables(), 128, 8));
  for (const std::int32_t devices : {2, 48}) {
    const PlacementDraw draw =
        value_of(PlacementDraw::make(pool.entries, devices, 20, std::int64_t{1} << 40));
    std::int64_t few = 0;
    std::int64_t least = 1 << 30;
    std::int64_t most = 0;
    for (int sample = 0; sample < 1000; ++sample) {
      const std::int64_t count = count_of(draw.draw(1, sample));
      least = std::min(least, count);
      most = std::max(most, count);
      few += count < 3.17 * devices;  // the middle of 1/2 and 20 by the logarithm
    }
    BOOST_TEST(least >= devices / 2);
    BOOST_TEST(least <= devices * 6 / 10);
    BOOST_TEST(most > devices * 18);
    BOOST_TEST(most <= devices * 20);
    BOOST_TEST(few > 400);
    BOOST_TEST(few < 600);
  }
}

BOOST_AUTO_TEST_CASE(some_are_level_and_some_are_not) {
  const ShardPool pool = value_of(ShardPool::make(some_tables(), 128, 1));
  const PlacementDraw draw =
      value_of(PlacementDraw::make(pool.entries, 4, 15, std::int64_t{1} << 40));
  int level = 0;
  int uneven = 0;
  std::set<std::int32_t> smallest;
  for (int sample = 0; sample < 1000; ++sample) {
    const Placement placement = draw.draw(2, sample);
    const std::vector<double> dims = dims_of(pool.entries, placement);
    const auto [least, most] = std::minmax_element(dims.begin(), dims.end());
    level += *most <= 1.05 * *least;
    uneven += *most > 1.5 * *least;
    std::int32_t dim = 128;
    for (const auto& ids : placement) {
      for (const std::int32_t id : ids) {
        dim = std::min(dim, pool.entries[static_cast<std::size_t>(id)].dim);
      }
    }
    smallest.insert(dim);
  }
  BOOST_TEST(level > 50);
  BOOST_TEST(uneven > 300);
  BOOST_TEST((smallest == std::set<std::int32_t>{4, 8, 16, 32, 64, 128}));
}

BOOST_AUTO_TEST_CASE(no_device_holds_more_than_its_memory) {
  const ShardPool pool = value_of(ShardPool::make(some_tables(), 128, 1));
  const std::int64_t memory = 20'000'000;  // the largest has 39 MB
  const PlacementDraw draw = value_of(PlacementDraw::make(pool.entries, 3, 200, memory));
  bool full = false;
  for (int sample = 0; sample < 200; ++sample) {
    for (const auto& ids : draw.draw(3, sample)) {
      std::int64_t bytes = 0;
      for (const std::int32_t id : ids) {
        bytes += table_bytes(pool.entries[static_cast<std::size_t>(id)], {});
      }
      BOOST_REQUIRE(bytes <= memory);
      full |= bytes > memory * 9 / 10;
    }
  }
  BOOST_TEST(full);
  check_refused(PlacementDraw::make(pool.entries, 3, 200, 1000).status(),
                {"max-memory is 1000 B", "the smallest table needs"});
}

BOOST_AUTO_TEST_CASE(a_placement_depends_on_seed_and_number_alone) {
  const ShardPool pool = value_of(ShardPool::make(some_tables(), 64, 4));
  const PlacementDraw draw = value_of(PlacementDraw::make(pool.entries, 8, 5, 1 << 30));
  const Placement fifth = draw.draw(7, 5);
  static_cast<void>(draw.draw(7, 900));
  BOOST_TEST((draw.draw(7, 5) == fifth));
  BOOST_TEST((draw.draw(8, 5) != fifth));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
