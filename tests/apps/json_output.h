#pragma once

#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

#include "tests/apps/process.h"

// What commands write, as JSON.

namespace neuroshard::test {

using Keys = std::set<std::string>;

inline boost::json::object parsed(const std::string& text) {
  boost::json::error_code error;
  boost::json::value value = boost::json::parse(text, error);
  BOOST_TEST_REQUIRE(!error, text.substr(0, 200));
  return value.as_object();
}

inline Keys keys_of(const boost::json::value& value) {
  Keys keys;
  for (const auto& member : value.as_object()) keys.emplace(member.key());
  return keys;
}

/// A hundred generated tables.
inline std::string generated_pool(const TemporaryFolder& folder) {
  const std::string pool = folder.file("pool.json");
  BOOST_TEST_REQUIRE(
      run_command({"tables", "generate", "--count", "100", "--seed", "1", "--output", pool})
          .exit_code == 0);
  return pool;
}

}  // namespace neuroshard::test
