// Numbering equal values alike, against a map.
#include "engine/cost_model/distinct_values.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <vector>

#include "engine/core/rng.h"

namespace neuroshard {

BOOST_AUTO_TEST_SUITE(distinct_values)

BOOST_AUTO_TEST_CASE(equal_values_share_a_number_in_the_order_of_first_sight) {
  Rng rng(1);
  for (int round = 0; round < 300; ++round) {
    const auto count = static_cast<std::size_t>(rng.between(1, 600));
    const std::uint64_t kinds = 1 + rng.below(2 * count);
    std::vector<float> values(count);
    for (float& value : values) value = 4 * static_cast<float>(rng.below(kinds));
    std::vector<float> numbers(count);
    std::vector<float> work(distinct_work_size(count), 7.0f);
    const std::int64_t found = number_distinct(values, numbers.data(), work.data());
    std::map<float, float> expected;
    for (std::size_t k = 0; k < count; ++k) {
      const auto next = static_cast<float>(expected.size());
      BOOST_TEST(numbers[k] == expected.try_emplace(values[k], next).first->second);
    }
    BOOST_TEST(found == static_cast<std::int64_t>(expected.size()));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
