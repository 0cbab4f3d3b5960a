#pragma once

// Boost.Test's static library, for machines without Boost, brings its own main(): compiled in, it
// does not.
#ifdef BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>
#else
#define BOOST_TEST_NO_MAIN
#include <boost/test/included/unit_test.hpp>
#endif

namespace neuroshard::test {

/// Runs the suites that the command line names.
inline int run_suites(int argc, char** argv) {
#ifdef BOOST_TEST_DYN_LINK
  const auto nothing_more = [] { return true; };
#else
  const auto nothing_more = [](int, char**) -> boost::unit_test::test_suite* { return nullptr; };
#endif
  return boost::unit_test::unit_test_main(nothing_more, argc, argv);
}

}  // namespace neuroshard::test
