// The last changes of a plan, one table at a time.
#include "search/local/single_changes.h"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/plan_check.h"
#include "engine/core/shards_by_table.h"
#include "search/piece_sizes.h"
#include "tests/search/walk_task.h"
#include "tests/support/sanitized.h"

namespace neuroshard::search {
namespace {

WalkResult settled(const test::WalkTask& task, const Assignment& start, std::int64_t most) {
  return with_single_changes(start, task.problem, task.evaluator, task.catalog, most,
                             [] { return false; });
}

/// The plan with another layout of one table.
Plan with_layout(const Plan& plan, std::int32_t table, const std::vector<Shard>& layout) {
  Plan other{plan.devices, layout};
  for (const Shard& shard : plan.shards) {
    if (shard.table != table) other.shards.push_back(shard);
  }
  canonicalize(other);
  return other;
}

/// The layouts with one of the shards of all rows, or the second half of its columns, on the
/// device.
std::vector<std::vector<Shard>> with_a_shard_on(std::int32_t device, const TableSpace& own,
                                                std::span<const Shard> now) {
  std::vector<std::vector<Shard>> layouts;
  for (const Shard& shard : now) {
    if (shard.device == device) return {};
  }
  for (std::size_t k = 0; k < now.size(); ++k) {
    if (now[k].rows() != own.table->rows) continue;
    layouts.emplace_back(now.begin(), now.end());
    layouts.back()[k].device = device;
    const std::int32_t first = split_point(own, now[k].dim());
    if (first == 0) continue;
    layouts.emplace_back(now.begin(), now.end());
    layouts.back()[k].column_end = now[k].column_begin + first;
    layouts.back().push_back(now[k]);
    layouts.back().back().column_begin += first;
    layouts.back().back().device = device;
  }
  return layouts;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(single_changes)

BOOST_AUTO_TEST_CASE(a_plan_is_within_memory_and_ends_where_no_change_of_a_table_helps) {
  Rng rng(3);
  const int rounds = test::unless_sanitized(8, 3);
  int cheaper = 0;
  int elsewhere = 0;
  for (int round = 0; round < rounds; ++round) {
    const test::WalkTask task(rng, static_cast<std::int32_t>(rng.between(2, 8)), 12);
    const WalkResult found = settled(task, task.start, kNoBudget);
    const Plan plan = plan_of(found.best, task.workload, task.catalog, task.cluster.devices);
    BOOST_TEST(validate(task.workload, plan).ok());
    for (const std::int64_t bytes : device_bytes(task.workload, plan)) {
      BOOST_TEST(bytes <= task.cluster.memory_bytes);
    }
    BOOST_TEST(found.cost == plan_cost(plan, task.evaluator), boost::test_tools::tolerance(1e-5));
    cheaper += found.cost < task.start_cost ? 1 : 0;
    BOOST_TEST(settled(task, found.best, kNoBudget).cost == found.cost,
               boost::test_tools::tolerance(1e-6));
    const auto helps = [&](const Plan& other) {
      for (const std::int64_t bytes : device_bytes(task.workload, other)) {
        if (bytes > task.cluster.memory_bytes) return false;
      }
      return plan_cost(other, task.evaluator) < found.cost * (1 - 1e-5);
    };
    const std::vector<std::span<const Shard>> layouts = shards_by_table(plan);
    for (std::int32_t table = 0; table < task.catalog.tables(); ++table) {
      const TableSpace& own = task.problem.space.of(table);
      std::vector<Shard> blocks;
      const std::int64_t block = even_block(own, task.cluster.devices);
      for (std::int32_t device = 0; device < task.cluster.devices; ++device) {
        const Shard whole = whole_table(task.workload, table, device);
        BOOST_TEST(!helps(with_layout(plan, table, {whole})));
        const std::span<const Shard> now = layouts[static_cast<std::size_t>(table)];
        for (const auto& layout : with_a_shard_on(device, own, now)) {
          BOOST_TEST(!helps(with_layout(plan, table, layout)));
          ++elsewhere;
        }
        if (block > 0) blocks.push_back(block_on(whole, block, device));
      }
      if (block > 0) BOOST_TEST(!helps(with_layout(plan, table, blocks)));
    }
  }
  BOOST_TEST(cheaper >= rounds - 1);
  BOOST_TEST(elsewhere > 50 * rounds);
}

BOOST_AUTO_TEST_CASE(a_budget_of_candidates_is_kept_and_more_is_never_worse) {
  Rng rng(4);
  const test::WalkTask task(rng, 5, 12);
  double before = task.start_cost;
  for (const std::int64_t most : {0, 1, 10, 100, 1000, 10'000}) {
    const WalkResult found = settled(task, task.start, most);
    BOOST_TEST(found.candidates <= most);
    BOOST_TEST(found.cost <= before);
    before = found.cost;
  }
  BOOST_TEST((settled(task, task.start, 0).best == task.start));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
