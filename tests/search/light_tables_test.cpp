// Which tables may be divided where there is no time to learn what the pieces of all cost.
#include "search/refine/light_tables.h"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <vector>

#include "search/refine/refine.h"
#include "tests/search/table_evaluator.h"

namespace neuroshard::search {
namespace {

constexpr std::int64_t kRoom = std::int64_t{1} << 40;

/// Tables of 512 columns, which cost 1, 2, .. ms.
struct Many {
  explicit Many(std::int32_t count) {
    for (std::int32_t table = 0; table < count; ++table) {
      workload.tables.push_back(test::make_table(10, 512));
      costs.push_back(static_cast<float>(table + 1));
    }
  }

  Workload workload;
  std::vector<float> costs;
};

std::vector<std::size_t> divisible(const Problem& problem) {
  std::vector<std::size_t> tables;
  for (std::size_t table = 0; table < problem.space.tables.size(); ++table) {
    if (problem.space.tables[table].sharding.columns) tables.push_back(table);
  }
  return tables;
}

SearchOptions within(std::int64_t evaluations) {
  SearchOptions options;
  options.evaluations = evaluations;
  return options;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(light_tables)

BOOST_AUTO_TEST_CASE(nothing_changes_where_there_is_time_for_all) {
  const Many few(50);
  test::TableEvaluator evaluator(few.workload, 4, few.costs);
  const Problem problem(few.workload, test::make_cluster(4, kRoom));
  BOOST_TEST(!with_light_tables_whole(problem, evaluator, {}, within(1)).has_value());
  const Many many(3000);
  test::TableEvaluator other(many.workload, 4, many.costs);
  const Problem larger(many.workload, test::make_cluster(4, kRoom));
  BOOST_TEST(with_light_tables_whole(larger, other, {}, within(1)).has_value());
  BOOST_TEST(!with_light_tables_whole(larger, other, {}, within(1'000'000)).has_value());
}

BOOST_AUTO_TEST_CASE(the_costliest_may_be_divided_and_more_with_more_time) {
  const Many many(3000);
  test::TableEvaluator evaluator(many.workload, 4, many.costs);
  const Problem problem(many.workload, test::make_cluster(4, kRoom));
  std::size_t before = 0;
  for (const std::int64_t evaluations : {1, 30'000, 40'000}) {
    const auto light = with_light_tables_whole(problem, evaluator, {}, within(evaluations));
    BOOST_REQUIRE(light.has_value());
    const std::vector<std::size_t> tables = divisible(*light);
    BOOST_REQUIRE(!tables.empty());
    BOOST_TEST(tables.back() == 2999u);
    BOOST_TEST(tables.front() + tables.size() == 3000u);  // and no other
    BOOST_TEST(tables.size() > before);
    before = tables.size();
  }
}

BOOST_AUTO_TEST_CASE(what_may_not_stay_whole_may_be_divided) {
  Many many(3000);
  many.workload.tables[0].sharding.whole = false;
  many.workload.tables[1].rows = 1'000'000;
  test::TableEvaluator evaluator(many.workload, 4, many.costs);
  const std::int64_t memory = std::int64_t{4} << 30;  // the second table takes half of it
  const Problem problem(many.workload, test::make_cluster(4, memory));
  const auto light = with_light_tables_whole(problem, evaluator, {}, within(1));
  BOOST_REQUIRE(light.has_value());
  BOOST_TEST(light->space.tables[0].sharding.columns);
  BOOST_TEST(light->space.tables[1].sharding.columns);
  BOOST_TEST(!light->space.tables[2].sharding.columns);
}

BOOST_AUTO_TEST_CASE(tables_that_fit_only_in_pieces_are_divided_all_the_same) {
  const Many many(1502);
  test::TableEvaluator evaluator(many.workload, 4, many.costs);
  const std::int64_t all = bytes_of_all(space_of(many.workload));
  // 375 tables and a half a device: of four equal sizes, two are left that fit in halves alone.
  const Problem problem(many.workload, test::make_cluster(4, all / 4));
  const SearchOptions options = within(1);
  BOOST_REQUIRE(with_light_tables_whole(problem, evaluator, {}, options).has_value());
  const Result<SearchResult> found = shard_refine(problem, evaluator, options);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(test::fits(many.workload, found->plan, problem.cluster));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
