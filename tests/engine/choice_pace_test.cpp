// How many choices of kernels are tried within what limits.
#include "engine/planner/offload/choice_pace.h"

#include <boost/test/unit_test.hpp>

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(choice_pace)

namespace {

std::int64_t neighbours_within(std::int64_t evaluations, std::size_t tables = 26) {
  const search::SearchOptions options{.evaluations = evaluations};
  const ChoicePace pace(options, true, tables);
  BOOST_TEST(!pace.by_clock());
  std::int64_t tried = 0;
  while (pace.another_neighbour(tried)) ++tried;
  return tried;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_quarter_of_many_evaluations_is_for_neighbours) {
  BOOST_TEST(neighbours_within(1) == 60);
  BOOST_TEST(neighbours_within(480'000) == 60);
  BOOST_TEST(neighbours_within(4'000'000) == 500);
  BOOST_TEST(neighbours_within(1, 200) == 30);
  BOOST_TEST(neighbours_within(4'000'000, 200) == 500);
}

BOOST_AUTO_TEST_CASE(however_many_tables_there_are_some_choices_are_tried) {
  BOOST_TEST(neighbours_within(1, 100'000) == 1);
  const search::SearchOptions options;
  BOOST_TEST(ChoicePace(options, true, 26).most_worse() == 12);
  BOOST_TEST(ChoicePace(options, true, 5000).most_worse() == 1);
}

BOOST_AUTO_TEST_CASE(time_that_is_left_is_for_more_neighbours) {
  search::SearchOptions options{.time_limit_s = 1e6};
  BOOST_TEST(ChoicePace(options, true, 26).another_neighbour(1'000'000));
  BOOST_TEST(ChoicePace(options, true, 26).by_clock());
  options.time_limit_s = 1e-6;
  const ChoicePace late(options, true, 26);
  while (!late.out_of_time()) {
  }
  BOOST_TEST(late.another_neighbour(59));
  BOOST_TEST(!late.another_neighbour(60));
  options.time_limit_s = 0;
  BOOST_TEST(ChoicePace(options, true, 26).by_clock());  // a usual limit is one
  BOOST_TEST(!ChoicePace(options, false, 26).by_clock());
  BOOST_TEST(!ChoicePace(options, false, 26).another_neighbour(60));
}

BOOST_AUTO_TEST_CASE(a_try_gets_a_share_of_the_time_and_no_limit_where_there_is_none) {
  search::SearchOptions options{.time_limit_s = 1000};
  const ChoicePace pace(options, true, 26);
  BOOST_TEST(pace.of_try().time_limit_s == 100);
  BOOST_TEST(pace.of_try(true).time_limit_s > 900);
  BOOST_TEST(pace.of_rest(false).time_limit_s > 900);
  BOOST_TEST(pace.of_rest(true).time_limit_s > 450);
  BOOST_TEST(pace.of_rest(true).time_limit_s <= 500);
  BOOST_TEST(pace.of_try().evaluations == 2000);
  options = {.evaluations = 5000};
  const ChoicePace by_evaluations(options, true, 26);
  BOOST_TEST(by_evaluations.of_try().time_limit_s == 0);
  BOOST_TEST(by_evaluations.of_rest(true).time_limit_s == 0);
  options = {};
  BOOST_TEST(ChoicePace(options, true, 26).of_rest(false).time_limit_s == 1);
  BOOST_TEST(ChoicePace(options, false, 26).of_rest(false).time_limit_s == 0);
}

BOOST_AUTO_TEST_CASE(tries_have_half_of_the_evaluations_and_the_run_most_of_the_rest) {
  const search::SearchOptions options{.evaluations = 100'000};
  ChoicePace pace(options, true, 26);
  BOOST_TEST(pace.of_try().evaluations == 500);
  BOOST_TEST(!pace.out_of_evaluations());
  pace.spend(60'000);
  BOOST_TEST(pace.out_of_evaluations());
  BOOST_TEST(pace.of_rest(true).evaluations == 33'334);
  BOOST_TEST(pace.of_rest(false).evaluations == 40'000);
  pace.spend(39'990);
  BOOST_TEST(pace.of_try().evaluations == 10);
  BOOST_TEST(!pace.spent_all());
  pace.spend(10);
  BOOST_TEST(pace.spent_all());
  BOOST_TEST(pace.of_rest(true).evaluations == 1);  // 0 would be as many as it takes
  const search::SearchOptions none{};
  BOOST_TEST(!ChoicePace(none, true, 26).out_of_evaluations());
  BOOST_TEST(ChoicePace(none, true, 26).of_rest(true).evaluations == 0);
}

BOOST_AUTO_TEST_CASE(a_walk_has_the_evaluations_or_the_time_that_is_left) {
  search::SearchOptions options{.evaluations = 5000};
  ChoicePace pace(options, true, 26);
  pace.spend(4600);  // by tries and the run before it
  BOOST_TEST(pace.walked(200, 0) == 0.5);
  BOOST_TEST(pace.walked(400, 0) == 1);
  BOOST_TEST(pace.cut_short(399));
  BOOST_TEST(!pace.cut_short(400));
  options.time_limit_s = 1e6;
  BOOST_TEST(pace.walked(200, 0) == 0.5);
  const search::SearchOptions none{};
  BOOST_TEST(ChoicePace(none, false, 26).walked(1000, 0) == 0.5);
  options = {.time_limit_s = 1e6};
  const ChoicePace by_clock(options, true, 26);
  BOOST_TEST(by_clock.walked(1'000'000'000, by_clock.passed()) < 0.1);
  BOOST_TEST(by_clock.cut_short(1'000'000'000));
  BOOST_TEST(by_clock.walked(0, 2e6) == 1);  // too late for a walk
  CancelToken cancel;
  cancel.cancel();
  options.cancel = &cancel;
  BOOST_TEST(by_clock.walked(0, 0) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
