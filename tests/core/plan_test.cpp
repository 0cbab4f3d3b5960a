#include "engine/core/plan.h"

#include <boost/test/unit_test.hpp>

#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/rng.h"
#include "engine/core/shards_by_table.h"

namespace neuroshard {
namespace {

Workload two_tables() {
  Workload workload;
  workload.tables.push_back({.name = "a", .rows = 100, .dim = 16, .pooling_factor = 1});
  workload.tables.push_back({.name = "b", .rows = 10, .dim = 8, .pooling_factor = 2});
  return workload;
}

Plan whole(const Workload& workload, int devices) {
  Plan plan{devices, {}};
  for (int t = 0; t < static_cast<int>(workload.tables.size()); ++t) {
    plan.shards.push_back(whole_table(workload, t, t % devices));
  }
  return plan;
}

/// Cuts [0, rows) x [0, dim) of a table into disjoint rectangles by random guillotine cuts.
void cut(Rng& rng, Shard shard, int depth, std::vector<Shard>& out) {
  const bool by_rows = rng.below(2) == 0;
  if (depth == 0 || (by_rows ? shard.rows() : shard.dim()) < 2) {
    out.push_back(shard);
    return;
  }
  Shard first = shard;
  Shard second = shard;
  if (by_rows) {
    first.row_end = second.row_begin = rng.between(shard.row_begin + 1, shard.row_end - 1);
  } else {
    first.column_end = second.column_begin =
        static_cast<std::int32_t>(rng.between(shard.column_begin + 1, shard.column_end - 1));
  }
  cut(rng, first, depth - 1, out);
  cut(rng, second, depth - 1, out);
}

bool says(const Status& status, const std::string& part) {
  return status.code() == StatusCode::kInvalidInput &&
         status.message().find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plan)

BOOST_AUTO_TEST_CASE(whole_tables_are_a_valid_plan) {
  const Workload workload = two_tables();
  BOOST_TEST(validate(workload, whole(workload, 2)).ok());
}

BOOST_AUTO_TEST_CASE(random_guillotine_cuts_cover_exactly_once_and_any_loss_is_noticed) {
  const Workload workload = two_tables();
  Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    Plan plan{4, {}};
    for (int t = 0; t < 2; ++t) {
      std::vector<Shard> shards;
      cut(rng, whole_table(workload, t, 0), 4, shards);
      for (Shard& shard : shards) {
        shard.device = static_cast<std::int32_t>(rng.below(4));
        plan.shards.push_back(shard);
      }
    }
    BOOST_REQUIRE_MESSAGE(validate(workload, plan).ok(), validate(workload, plan).message());
    Plan lacking = plan;
    const auto lost =
        lacking.shards.begin() + static_cast<std::ptrdiff_t>(rng.below(lacking.shards.size()));
    const std::string first_cell = "cells, not row " + std::to_string(lost->row_begin) +
                                   ", column " + std::to_string(lost->column_begin) + ", expected";
    lacking.shards.erase(lost);
    BOOST_REQUIRE(says(validate(workload, lacking), first_cell) ||
                  says(validate(workload, lacking), "cells, as if it had "));
    Plan doubled = plan;
    doubled.shards.push_back(plan.shards[rng.below(plan.shards.size())]);
    BOOST_REQUIRE(says(validate(workload, doubled), "overlaps"));
  }
}

BOOST_AUTO_TEST_CASE(a_table_that_has_grown_since_is_told_from_a_shard_that_is_lost) {
  Workload workload = two_tables();
  Plan plan{2, {{0, 0, 60, 0, 16, 0}, {0, 60, 100, 0, 8, 1}, {0, 60, 100, 8, 16, 0}}};
  plan.shards.push_back(whole_table(workload, 1, 1));
  BOOST_REQUIRE(validate(workload, plan).ok());
  workload.tables[0].rows = 120;
  BOOST_TEST(validate(workload, plan).message() ==
             "table 0: shards cover 1600 of its 1920 cells, as if it had 100 rows and 16 columns, "
             "not 120 and 16, expected every cell in exactly one shard");
  workload.tables[0].dim = 32;
  BOOST_TEST(says(validate(workload, plan), "as if it had 100 rows and 16 columns, not 120 and 3"));
  std::swap(plan.shards[1], plan.shards.back());
  plan.shards.pop_back();
  BOOST_TEST(says(validate(workload, plan), "cells, not row 0, column 16, expected"));
}

BOOST_AUTO_TEST_CASE(an_overlap_that_keeps_the_cell_count_is_noticed) {
  const Workload workload = two_tables();
  Plan plan = whole(workload, 2);
  // Table a: columns [0, 8) twice instead of [0, 8) and [8, 16).
  plan.shards[0].column_end = 8;
  plan.shards.push_back(plan.shards[0]);
  BOOST_TEST(says(validate(workload, plan), "overlaps"));
}

BOOST_AUTO_TEST_CASE(bounds_and_devices_are_checked) {
  const Workload workload = two_tables();
  const Plan good = whole(workload, 2);
  Plan plan = good;
  plan.shards[1].table = 2;
  BOOST_TEST(says(validate(workload, plan), "shards[1]: table 2, expected 0 to 1"));
  plan = good;
  plan.shards[0].row_end = 101;
  BOOST_TEST(says(validate(workload, plan), "rows [0, 101)"));
  plan = good;
  plan.shards[0].column_begin = 16;
  BOOST_TEST(says(validate(workload, plan), "columns [16, 16)"));
  plan = good;
  plan.shards[0].device = 2;
  BOOST_TEST(says(validate(workload, plan), "device 2, expected 0 to 1"));
}

BOOST_AUTO_TEST_CASE(shards_beyond_the_names_of_a_file_are_named_by_index) {
  const Workload workload = two_tables();
  Plan plan = whole(workload, 2);
  for (Shard& shard : plan.shards) shard.device = 2;
  const std::vector<Status> faults = find_faults(workload, plan, {{"plan.a"}, {}});
  BOOST_REQUIRE_EQUAL(faults.size(), 2U);
  BOOST_TEST(says(faults[0], "plan.a: device 2, expected 0 to 1"));
  BOOST_TEST(says(faults[1], "shards[1]: device 2, expected 0 to 1"));
}

BOOST_AUTO_TEST_CASE(a_replicated_table_is_whole_and_counts_on_every_device) {
  const Workload workload = two_tables();
  Plan plan = whole(workload, 2);
  plan.shards[1].device = kEveryDevice;
  BOOST_TEST(validate(workload, plan).ok());
  Plan part = plan;
  part.shards[1].row_begin = 1;
  BOOST_TEST(says(validate(workload, part), "on all devices, expected the whole table 1"));
  const std::vector<std::int64_t> bytes = device_bytes(workload, plan);
  BOOST_TEST(bytes[0] == 100 * 16 * 4 + 10 * 8 * 4);
  BOOST_TEST(bytes[1] == 10 * 8 * 4);
  plan.shards[1].row_end = 5;
  BOOST_TEST(!validate(workload, plan).ok());
}

BOOST_AUTO_TEST_CASE(blocks_of_rows_are_told_whether_devices_follow_each_other) {
  const auto blocks = [](std::vector<std::int32_t> on) {
    Plan plan{8, {}};
    for (std::size_t k = 0; k < on.size(); ++k) {
      const auto begin = static_cast<std::int64_t>(k) * 10;
      plan.shards.push_back({0, begin, begin + 10, 0, 8, on[k]});
    }
    const std::vector<ShardShape> shapes = shapes_of(plan);
    for (const ShardShape& shape : shapes) {
      BOOST_TEST(shape.row_blocks == static_cast<std::int32_t>(on.size()));
      BOOST_TEST(shape.in_order == shapes[0].in_order);
    }
    return shapes[0].in_order;
  };
  BOOST_TEST(blocks({0, 1, 2, 3, 4, 5, 6, 7}));
  BOOST_TEST(blocks({4, 5, 6, 7}));
  BOOST_TEST(!blocks({2, 3, 4, 5}));  // of two hosts of 4
  BOOST_TEST(!blocks({4, 5, 7, 6}));
  BOOST_TEST(!blocks({1, 0}));
}

BOOST_AUTO_TEST_CASE(rows_are_told_of_what_groups_of_devices_they_are_on) {
  const auto group = [](const std::vector<std::int32_t>& on) {
    Plan plan{64, {{1, 0, 40, 0, 8, 3}}};  // another table, which has all of its rows
    std::int64_t row = 0;
    for (const std::int32_t device : on) {
      const std::int64_t rows = 1 + device % 3;  // as many as they like
      plan.shards.push_back({0, row, row + rows, 0, 8, device});
      row += rows;
    }
    const std::vector<ShardShape> shapes = shapes_of(plan);
    BOOST_TEST(shapes[0].device_group == 0);
    for (std::size_t k = 1; k < shapes.size(); ++k) {
      BOOST_TEST(shapes[k].device_group == shapes[1].device_group);
    }
    return shapes[1].device_group;
  };
  BOOST_TEST(group({8, 9, 10, 11}) == 4);
  BOOST_TEST(group({11, 9, 10, 8}) == 4);                // in any order
  BOOST_TEST(group({4, 5, 6, 7, 16, 17, 18, 19}) == 4);  // far from each other
  BOOST_TEST(group({4, 5, 6, 7, 8, 9, 10, 11}) == 4);
  BOOST_TEST(group({2, 3, 4, 5}) == 2);
  BOOST_TEST(group({0, 2}) == 1);
  BOOST_TEST(group({6, 7, 7}) == 1);  // two parts on one device
  // The largest of which each is there whole or not at all, by trial.
  Rng rng(7);
  for (int draw = 0; draw < 200; ++draw) {
    const std::int64_t each = std::int64_t{1} << rng.below(4);
    std::vector<bool> has(64);
    for (std::int64_t first = 0; first < 64; first += each) {
      const bool chosen = rng.below(3) == 0;
      for (std::int64_t k = first; k < first + each; ++k) has[static_cast<std::size_t>(k)] = chosen;
    }
    std::vector<std::int32_t> on;
    for (std::int32_t k = 0; k < 64; ++k) {
      if (has[static_cast<std::size_t>(k)]) on.push_back(k);
    }
    if (on.size() < 2) continue;
    std::int32_t largest = 1;
    for (std::int32_t n = 2; n <= 64; ++n) {
      bool whole = true;
      for (const std::int32_t device : on) {
        for (std::int32_t k = device / n * n; k < (device / n + 1) * n; ++k) {
          whole = whole && k < 64 && has[static_cast<std::size_t>(k)];
        }
      }
      if (whole) largest = n;
    }
    BOOST_TEST(group(on) == largest);
  }
}

BOOST_AUTO_TEST_CASE(blocks_of_a_modulo_are_told_in_order_too) {
  // 10 rows over 8 devices: two of the blocks have two.
  Plan plan{8, {}};
  std::int64_t row = 0;
  for (std::int32_t device = 0; device < 8; ++device) {
    const std::int64_t rows = device < 2 ? 2 : 1;
    plan.shards.push_back({0, row, row + rows, 0, 8, device});
    row += rows;
  }
  for (const ShardShape& shape : shapes_of(plan)) {
    BOOST_TEST(shape.row_blocks == 8);
    BOOST_TEST(shape.in_order);
  }
  std::swap(plan.shards[6].device, plan.shards[7].device);
  BOOST_TEST(!shapes_of(plan)[0].in_order);
}

BOOST_AUTO_TEST_CASE(coverage_counts_cells_up_to_the_largest_table) {
  Workload workload;
  workload.tables.push_back(
      {.name = "huge", .rows = (std::int64_t{1} << 60) / 4, .dim = 4, .pooling_factor = 1});
  BOOST_TEST(validate(workload).ok());
  BOOST_TEST(validate(workload, whole(workload, 1)).ok());
}

BOOST_AUTO_TEST_CASE(canonical_order_does_not_depend_on_the_order_of_shards) {
  const Workload workload = two_tables();
  Plan a{2, {}};
  Rng rng(3);
  cut(rng, whole_table(workload, 0, 0), 3, a.shards);
  cut(rng, whole_table(workload, 1, 1), 2, a.shards);
  Plan b = a;
  for (std::size_t i = b.shards.size(); i > 1; --i)
    std::swap(b.shards[i - 1], b.shards[rng.below(i)]);
  canonicalize(a);
  canonicalize(b);
  BOOST_TEST((a == b));
}

BOOST_AUTO_TEST_CASE(shards_stand_by_table) {
  const Plan plan{
      2,
      {{0, 0, 100, 0, 4, 1}, {0, 0, 100, 4, 12, 0}, {0, 0, 100, 12, 16, 1}, {2, 0, 10, 0, 8, 0}}};
  const std::vector<std::span<const Shard>> tables = shards_by_table(plan);
  BOOST_REQUIRE(tables.size() == 2U);
  BOOST_TEST((tables[0].data() == &plan.shards[0] && tables[0].size() == 3));
  BOOST_TEST((tables[1].data() == &plan.shards[3] && tables[1].size() == 1));
  BOOST_TEST(shards_by_table({2, {}}).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
