#include "search/local/allowance.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "engine/core/rng.h"

namespace neuroshard::search {

BOOST_AUTO_TEST_SUITE(allowance)

BOOST_AUTO_TEST_CASE(a_step_is_let_pass_as_by_the_logarithm) {
  Rng rng(1);
  int passed = 0;
  for (int round = 0; round < 200'000; ++round) {
    const double now = (rng.uniform() - 0.1) * std::exp(20 * rng.uniform() - 10);
    const double temperature = round % 10 == 0 ? 0 : std::abs(now) * std::exp(-12 * rng.uniform());
    // From far better to far worse, most of them about as much worse as may be.
    const double after = now + temperature * (rng.uniform() * 8 - 2) + (round % 7 - 3) * 1e-17;
    Rng same = rng;
    const bool lets = Allowance(temperature, rng).lets(after, now);
    const double draw = same.uniform();
    BOOST_REQUIRE_EQUAL(lets, after <= now - temperature * std::log1p(-draw));
    passed += lets ? 1 : 0;
  }
  BOOST_TEST(passed > 60'000);
  BOOST_TEST(passed < 160'000);
}

BOOST_AUTO_TEST_CASE(what_is_no_number_or_infinite_does_not_pass) {
  Rng rng(2);
  for (int round = 0; round < 100; ++round) {
    const Allowance allowance(1, rng);
    BOOST_TEST(!allowance.lets(std::numeric_limits<double>::infinity(), 3));
    BOOST_TEST(!allowance.lets(std::numeric_limits<double>::quiet_NaN(), 3));
    BOOST_TEST(allowance.lets(3, 3));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
