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
  return stages_of(options, tables, 4);
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
      BOOST_TEST(own[k].limits.advise == last);
      BOOST_TEST((!own[k].no_first_plans || last));
      if (!last) BOOST_TEST(own[k].first.evaluations == most[k].first.evaluations);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_search_to_the_end_of_a_stage_has_its_first_plans) {
  for (const Stage& stage : stages_for(10'000'000)) {
    const Stage last = stages_for(stage.limits.evaluations).back();
    BOOST_TEST(last.limits.evaluations == stage.limits.evaluations);
    BOOST_TEST(last.first.evaluations == stage.first.evaluations);
    BOOST_TEST(last.no_first_plans == stage.no_first_plans);
  }
}

BOOST_AUTO_TEST_CASE(each_takes_more_for_its_first_plans_than_the_one_before) {
  const std::vector<Stage> all = stages_for(1'000'000);
  BOOST_REQUIRE(all.size() > 3);
  for (std::size_t k = 1; k + 1 < all.size(); ++k) {
    BOOST_TEST(all[k].first.evaluations > 2 * all[k - 1].first.evaluations);
    BOOST_TEST(all[k].limits.evaluations > 2 * all[k - 1].limits.evaluations);
    BOOST_TEST(all[k].first.evaluations < all[k].limits.evaluations);
  }
}

BOOST_AUTO_TEST_CASE(first_plans_of_a_search_take_no_more_than_all_of_it) {
  for (std::int64_t evaluations = 1; evaluations < 5'000; ++evaluations) {
    const std::vector<Stage> all = stages_for(evaluations);
    BOOST_TEST(all[0].first.evaluations <= evaluations);
  }
}

BOOST_AUTO_TEST_CASE(walks_alone_go_on_from_the_best_plan_and_the_rivals_before) {
  const StartPlan best{.plan = {}, .cost = 1, .evaluations = 30'000};
  std::vector<Stage> all = stages_for(31'000);
  Stage& before = all[all.size() - 2];
  before.rivals = {Plan{.devices = 3, .shards = {}}};
  Stage last = all.back();
  BOOST_TEST(!last.walks_only());  // without a plan so far
  last.go_on_from(best, before);
  BOOST_TEST(last.walks_only());
  BOOST_TEST(last.so_far() == 30'000);
  BOOST_REQUIRE(last.rivals.size() == 1u);
  BOOST_TEST(last.rivals[0].devices == 3);
}

BOOST_AUTO_TEST_CASE(a_search_that_time_paces_has_one_without_a_limit) {
  const std::vector<Stage> timed = stages_for(0);
  BOOST_REQUIRE(timed.size() == 1);
  BOOST_TEST(timed[0].last());
  BOOST_TEST(timed[0].limits.evaluations == 0);
  BOOST_TEST(timed[0].end == 0);
}

BOOST_AUTO_TEST_CASE(a_search_that_time_paces_begins_with_the_stages_of_one_with_evaluations) {
  SearchOptions options;
  options.time_limit_s = 2;
  const std::vector<Stage> timed = stages_of(options, 30, 4);
  const std::vector<Stage> counted = stages_for(10'000'000);
  BOOST_REQUIRE(timed.size() == counted.size());
  double before = 0;
  for (std::size_t k = 0; k + 1 < timed.size(); ++k) {
    BOOST_TEST(!timed[k].last());
    BOOST_TEST(timed[k].end == counted[k].end);
    BOOST_TEST(timed[k].limits.evaluations == counted[k].limits.evaluations);
    BOOST_TEST(timed[k].first.evaluations == counted[k].first.evaluations);
    BOOST_TEST(timed[k].limits.time_limit_s > before);
    before = timed[k].limits.time_limit_s;
  }
  BOOST_TEST(before < 1);  // most of the time is for what time alone paces
  BOOST_TEST(timed.back().last());
  BOOST_TEST(timed.back().limits.evaluations == 0);
  BOOST_TEST(timed.back().limits.time_limit_s == 2);
  BOOST_TEST(!timed.back().no_first_plans);
  // Of very many tables and devices, each stage might take all of the time.
  BOOST_TEST(stages_of(options, 10'000, 1'024).size() == 1U);
}

BOOST_AUTO_TEST_CASE(only_the_last_stage_ends_before_as_many_evaluations_as_tables) {
  for (const std::size_t tables : {1'000u, 1'001u, 20'000u, 100'000u}) {
    const std::vector<Stage> all = stages_for(1'000'000, tables);
    BOOST_TEST(all[0].limits.evaluations >=
               std::min<std::int64_t>(30'000, static_cast<std::int64_t>(tables)));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
