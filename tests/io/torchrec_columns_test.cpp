// TorchRec takes shards of a table on one rank for equally wide: plans for it join others.
#include "io/trainers/torchrec_columns.h"

#include <boost/test/unit_test.hpp>
#include <map>

#include "engine/core/plan_check.h"
#include "engine/core/rng.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(torchrec_columns)

namespace {

/// Columns of a table with 10 rows on one device.
Shard columns(std::int32_t table, std::int32_t begin, std::int32_t end, std::int32_t device) {
  return {table, 0, 10, begin, end, device};
}

}  // namespace

BOOST_AUTO_TEST_CASE(unequal_columns_of_a_rank_are_written_as_one_shard) {
  const Plan plan{3,
                  {columns(0, 0, 32, 1), columns(0, 32, 40, 0), columns(0, 40, 56, 1),
                   columns(0, 56, 64, 0), columns(1, 0, 8, 2), columns(1, 8, 12, 0)}};
  BOOST_TEST(unequal_widths(std::span(plan.shards).first(4)) ==
             "shards of 32 and 16 columns on rank 1, TorchRec takes those of a table on one rank "
             "for equally wide");
  BOOST_TEST(unequal_widths(std::span(plan.shards).last(2)).empty());
  const Plan written = torchrec_plan(plan);
  // 32 and 16 columns of rank 1 are one shard; twice 8 of rank 0 stay two.
  const Plan expected{3,
                      {columns(0, 0, 48, 1), columns(0, 48, 56, 0), columns(0, 56, 64, 0),
                       columns(1, 0, 8, 2), columns(1, 8, 12, 0)}};
  BOOST_TEST((written == expected));
  BOOST_TEST((torchrec_plan(written) == written));
}

BOOST_AUTO_TEST_CASE(unequal_columns_of_a_host_are_joined_on_all_its_ranks) {
  Plan plan{4, {}};
  const auto deal = [&](std::int32_t begin, std::int32_t end, std::int32_t first) {
    for (std::int32_t rank = 0; rank < 2; ++rank) {
      plan.shards.push_back({0, 5 * rank, 5 * (rank + 1), begin, end, first + rank});
    }
  };
  deal(0, 32, 2);
  deal(32, 40, 0);
  deal(40, 56, 2);
  const Plan written = torchrec_plan(plan);
  plan.shards.clear();
  deal(0, 48, 2);
  deal(48, 56, 0);
  canonicalize(plan);
  BOOST_TEST((written == plan));
}

BOOST_AUTO_TEST_CASE(random_plans_stay_valid_and_no_rank_has_unequal_widths) {
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    Workload workload;
    Plan plan{4, {}};
    for (std::int32_t table = 0; table < 3; ++table) {
      std::int32_t column = 0;
      for (std::int64_t pieces = rng.between(1, 6); pieces > 0; --pieces) {
        const auto width = static_cast<std::int32_t>(4 * rng.between(1, 3));
        plan.shards.push_back(
            columns(table, column, column + width, static_cast<std::int32_t>(rng.below(4))));
        column += width;
      }
      Table own;
      own.rows = 10;
      own.dim = column;
      workload.tables.push_back(own);
    }
    const Plan written = torchrec_plan(plan);
    BOOST_TEST(validate(workload, written).ok());
    const auto widths = [](const Plan& of) {
      std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> sums;
      for (const Shard& shard : of.shards) sums[{shard.table, shard.device}] += shard.dim();
      return sums;
    };
    BOOST_TEST((widths(written) == widths(plan)));  // every rank has as many columns as before
    for (std::int32_t table = 0; table < 3; ++table) {
      std::vector<Shard> own;
      for (const Shard& shard : written.shards) {
        if (shard.table == table) own.push_back(shard);
      }
      BOOST_TEST(unequal_widths(own).empty());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::io
