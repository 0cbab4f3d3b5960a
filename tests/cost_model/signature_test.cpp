// What `neuroshard bench` prints: the same on every run.
#include <boost/test/unit_test.hpp>

#include "engine/planner/bench_signature.h"

namespace neuroshard {

BOOST_AUTO_TEST_SUITE(signature)

BOOST_AUTO_TEST_CASE(the_signature_repeats) {
  const auto first = neuroshard::bench_signature();
  BOOST_REQUIRE(first.ok());
#ifndef NEUROSHARD_SANITIZED  // 20 s each; there it is compared with that of other builds
  const auto second = neuroshard::bench_signature();
  BOOST_REQUIRE(second.ok());
  BOOST_TEST(first->text() == second->text());
#endif
  BOOST_TEST(first->evaluations > 1000);
  BOOST_TEST_MESSAGE("Bench: " << first->text() << " in " << first->seconds << " s");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
