#pragma once

#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/apps/process.h"

namespace neuroshard::test {

/// The command has ended with that code, and said one line, with `expected` in it.
inline void expect_one_line(const Outcome& outcome, int exit_code, const std::string& expected) {
  BOOST_TEST_CONTEXT("stderr: " << outcome.err) {
    BOOST_TEST(outcome.exit_code == exit_code);
    BOOST_TEST(lines_of(outcome.err).size() == 1U);
    BOOST_TEST(outcome.err.find(expected) != std::string::npos);
  }
}

}  // namespace neuroshard::test
