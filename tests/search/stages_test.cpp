// Stages of a search end where they end for every budget.
#include "search/refine/stages.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <vector>

namespace neuroshard::search {
namespace {

std::vector<Stage> stages_for(std::int64_t evaluations, std::size_t tables = 30) {
  SearchOptions options;
  options.evaluations = evaluations;
  return stages_of(options, tables);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stages)

BOOST_AUTO_TEST_CASE(all_but_the_last_are_those_of_any_larger_budget) {
  const std::vector<Stage> most = stages_for(10'000'000);
  for (std::int64_t evaluations = 800; evaluations < 10'000'000; evaluations += evaluations / 7) {
    const std::vector<Stage> own = stages_for(evaluations);
    BOOST_REQUIRE(own.size() <= most.size());
    for (std::size_t k = 0; k < own.size(); ++k) {
      const bool last = k + 1 == own.size();
      BOOST_TEST(own[k].last() == last);
      BOOST_TEST(own[k].limits.evaluations == (last ? evaluations : most[k].limits.evaluations));
      BOOST_TEST(own[k].first.evaluations == most[k].first.evaluations);
      BOOST_TEST(own[k].limits.advise == last);
    }
  }
}

BOOST_AUTO_TEST_CASE(each_takes_more_for_its_first_plans_than_the_one_before) {
  const std::vector<Stage> all = stages_for(1'000'000);
  BOOST_REQUIRE(all.size() > 3);
  for (std::size_t k = 1; k < all.size(); ++k) {
    BOOST_TEST(all[k].first.evaluations >=
               std::min(2 * all[k - 1].first.evaluations, std::int64_t{60'000}));
    BOOST_TEST(all[k].limits.evaluations > 2 * all[k - 1].limits.evaluations);
    BOOST_TEST(all[k].first.evaluations < all[k].limits.evaluations);
  }
}

BOOST_AUTO_TEST_CASE(first_plans_that_may_take_more_than_is_left_have_what_is_left) {
  std::vector<Stage> all = stages_for(95'000);
  const std::size_t last = all.size() - 1;
  const std::int64_t whole = all[last].first.evaluations;
  const StartPlan best{.plan = {}, .cost = 1, .evaluations = 90'000};
  all[last - 1].first_took = 1'000;
  all[last].go_on_from(best, all[last - 1]);
  BOOST_TEST(all[last].so_far() == 90'000);
  BOOST_TEST(all[last].first.evaluations == whole);
  all[last - 1].first_took = 2'000;
  all[last].go_on_from(best, all[last - 1]);
  BOOST_TEST(all[last].first.evaluations == 5'000);
}

BOOST_AUTO_TEST_CASE(a_search_that_time_paces_has_one_without_a_limit) {
  const std::vector<Stage> timed = stages_for(0);
  BOOST_REQUIRE(timed.size() == 1);
  BOOST_TEST(timed[0].last());
  BOOST_TEST(timed[0].limits.evaluations == 0);
  BOOST_TEST(timed[0].end == 0);
}

BOOST_AUTO_TEST_CASE(many_tables_have_no_stage_of_much_fewer_evaluations_than_tables) {
  for (const std::size_t tables : {1'000u, 20'000u, 100'000u}) {
    const std::vector<Stage> all = stages_for(1'000'000, tables);
    BOOST_TEST(all[0].limits.evaluations >= static_cast<std::int64_t>(tables / 3));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
