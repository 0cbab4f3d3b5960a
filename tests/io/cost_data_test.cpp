#include "io/cost_data/cost_data.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "io/file.h"
#include "support.h"
#include "tests/support/paths.h"

namespace neuroshard::io {
namespace {

using test::check_prefixes_refused;
using test::check_refused;
using test::value_of;

Result<std::vector<ComputeSample>> compute(std::string_view bytes) {
  return parse_compute_data(bytes, "f");
}

Result<std::vector<CommSample>> comm(std::string_view bytes) { return parse_comm_data(bytes, "f"); }

double random_cost(std::mt19937_64& random) {
  return std::ldexp(static_cast<double>(random() >> 11), -53) * 1000 + 1e-6;
}

BOOST_AUTO_TEST_SUITE(cost_data)

BOOST_AUTO_TEST_CASE(compute_lines_are_samples) {
  const auto samples = value_of(compute("2178,2787 32.4196390000111\n7,7 1e-3\n"));
  BOOST_REQUIRE(samples.size() == 2U);
  BOOST_TEST((samples[0] == ComputeSample{{2178, 2787}, 32.4196390000111}));
  BOOST_TEST((samples[1] == ComputeSample{{7, 7}, 0.001}));
  BOOST_TEST(format_line(samples[0]) == "2178,2787 32.4196390000111");
}

BOOST_AUTO_TEST_CASE(comm_lines_are_samples) {
  const auto samples = value_of(comm("132,68 0,3.5 33.6,44.5 32.5,0\n"));
  BOOST_REQUIRE(samples.size() == 1U);
  BOOST_TEST((samples[0] == CommSample{{132, 68}, {0, 3.5}, {33.6, 44.5}, {32.5, 0}}));
  BOOST_TEST(format_line(samples[0]) == "132,68 0,3.5 33.6,44.5 32.5,0");
}

BOOST_AUTO_TEST_CASE(random_samples_read_back_to_the_same_bits) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 1000; ++round) {
    ComputeSample sample;
    CommSample exchange;
    for (std::uint64_t value = 0; value < 1 + random() % 15; ++value) {
      sample.tables.push_back(static_cast<std::int32_t>(random() % 5136));
    }
    sample.cost_ms = random_cost(random);
    for (int device = 0; device < 8; ++device) {
      exchange.dims.push_back(static_cast<std::int64_t>(random() % 4096));
      exchange.starts_ms.push_back(random_cost(random));
      exchange.forward_ms.push_back(random_cost(random));
      exchange.backward_ms.push_back(random_cost(random));
    }
    BOOST_REQUIRE((value_of(compute(format_line(sample) + "\n")).front() == sample));
    BOOST_REQUIRE((value_of(comm(format_line(exchange) + "\n")).front() == exchange));
  }
}

BOOST_AUTO_TEST_CASE(bad_compute_lines_are_named_with_token_and_range) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "f:1: found an empty file"},
      {"1 5\n2 6", "f:2: found '2 6' without a line break, expected a whole line"},
      {"1 5\n\n2 6\n", "f:2: found an empty line"},
      {"1 5 6\n", "f:1: found '1 5 6', expected 'id,id,... cost_ms'"},
      {"5\n", "f:1: found '5', expected"},
      {"-1 5\n", "f:1: table id: found '-1', expected an integer from 0 to"},
      {"1,x 5\n", "f:1: table id: found 'x'"},
      {"1 5,6\n", "f:1: found 2 costs, expected one"},
      {"1 0\n", "f:1: cost_ms: found '0', expected a number from 1e-09 to 3600000"},
      {"1 -5\n", "f:1: cost_ms: found '-5'"},
      {"1 nan\n", "f:1: cost_ms: found 'nan'"},
      {"1 inf\n", "f:1: cost_ms: found 'inf'"},
      {"1 1e999\n", "f:1: cost_ms: found '1e999'"},
      {"1 1e-999\n", "f:1: cost_ms: found '1e-999'"},
      {"1 3600001\n", "f:1: cost_ms: found '3600001'"},
      {"1 5ms\n", "f:1: cost_ms: found '5ms'"},
      {"1 0x5\n", "f:1: cost_ms: found '0x5'"},
      {"1 5\r5\n", "f:1: cost_ms: found '5\\x0d5'"},
      {"1 5\n1 \xC3\x28\n", "f:2:3: found byte '\\xc3'"},
      {"task: 1 | cost: 5\n", "f:1: found 'task: 1 | cost: 5'"},
  };
  for (const auto& [text, message] : cases) check_refused(compute(text).status(), {message});
}

BOOST_AUTO_TEST_CASE(bad_comm_lines_are_named_with_token_and_range) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "f:1: found an empty file"},
      {"4 0 1 1", "f:1: found '4 0 1 1' without a line break"},
      {"4 0 1\n", "f:1: found '4 0 1', expected 'dim,dim,... start,start,... forward_ms"},
      {"4,4 0 1,1 1,1\n", "f:1: found 1 values beside 2 dims"},
      {"4,4 0,0 1,1,1 1,1\n", "f:1: found 3 values beside 2 dims"},
      {"4,4 0,0 1,1 1\n", "f:1: found 1 values beside 2 dims"},
      {"4,4 0,0 1,1 1,1\n4 0 1 1\n", "f:2: found 1 devices, expected 2 as in line 1"},
      {"-4 0 1 1\n", "f:1: dim: found '-4', expected an integer from 0"},
      {"4.5 0 1 1\n", "f:1: dim: found '4.5'"},
      {"4 -1 1 1\n", "f:1: start: found '-1', expected a number from 0 to 3600000"},
      {"4 0 NaN 1\n", "f:1: forward_ms: found 'NaN'"},
      {"4 0 1 1e7\n", "f:1: backward_ms: found '1e7'"},
      {"4 0 1 ,\n", "f:1: backward_ms: found ''"},
  };
  for (const auto& [text, message] : cases) check_refused(comm(text).status(), {message});
  std::string many = "4";
  for (int device = 0; device < 65536; ++device) many += ",4";
  check_refused(comm(many + " " + many + " " + many + " " + many + "\n").status(),
                {"f:1: found 65537 devices, expected at most 65536"});
}

BOOST_AUTO_TEST_CASE(every_truncation_inside_a_line_is_refused) {
  check_prefixes_refused("2178,2787 32.4196390000111\n", "f", compute);
  check_prefixes_refused("132,68 0,3 33.6,44.5 32.5,31.25\n", "f", comm);
}

BOOST_AUTO_TEST_CASE(ids_are_held_against_the_pool) {
  const auto samples = value_of(compute("0,4 5\n3,5 6\n"));
  BOOST_TEST(check_ids(samples, 6, "f").ok());
  check_refused(check_ids(samples, 5, "f"), {"f:2: table id: found 5, expected 0 to 4"});
}

BOOST_AUTO_TEST_CASE(the_third_party_measurements_are_read) {
  const auto compute_path = test::data_file("costs/cpu_compute/data.txt");
  const auto comm_path = test::data_file("costs/cpu_comm_8/data.txt");
  if (!compute_path || !comm_path) {
    BOOST_TEST_MESSAGE("skipped: the data folder is not there");
    return;
  }
  const auto samples = value_of(read_compute_data(*compute_path));
  BOOST_TEST(samples.size() == 4519U);
  BOOST_TEST(check_ids(samples, 5136, *compute_path).ok());
  const auto exchanges = value_of(read_comm_data(*comm_path));
  BOOST_TEST(exchanges.size() == 5010U);
  BOOST_TEST(exchanges.front().dims.size() == 8U);
  // Python wrote the file; our shortest form of its numbers must be Python's.
  std::string text;
  for (const CommSample& sample : exchanges) text += format_line(sample) + "\n";
  BOOST_TEST((text == value_of(read_file(*comm_path))));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
