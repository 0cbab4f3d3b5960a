#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "engine/core/bytes.h"
#include "engine/core/decimal.h"
#include "engine/core/rng.h"
#include "engine/core/status.h"
#include "engine/core/thread_pool.h"

namespace neuroshard {

BOOST_AUTO_TEST_SUITE(basics)

BOOST_AUTO_TEST_CASE(byte_sizes_in_both_unit_systems) {
  BOOST_TEST(parse_bytes("4GiB").value() == 4294967296);
  BOOST_TEST(parse_bytes("80GB").value() == 80000000000);
  BOOST_TEST(parse_bytes("1.5KiB").value() == 1536);
  BOOST_TEST(parse_bytes("0").value() == 0);
  BOOST_TEST(parse_bytes("17B").value() == 17);
  BOOST_TEST(parse_bytes("9223372036854775807").value() == 9223372036854775807);
  BOOST_TEST(parse_bytes("9007199254740993").value() == 9007199254740993);  // no double is that
  BOOST_TEST(!parse_bytes("9223372036854775808").ok());
  BOOST_TEST(scaled_bytes(1000, 0.125) == 125);
  BOOST_TEST(scaled_bytes(9223372036854775807, 1) == 9223372036854775807);
  BOOST_TEST(scaled_bytes(std::int64_t{1} << 62, 2) == 9223372036854775807);
  for (const char* bad : {"", "GiB", "-1", "-0.5GiB", "4 GiB", "4gib", "nan", "inf", "1e3", "0x10",
                          "8EiB", "10000000PiB", "9223372036854775808", "4GiBx"}) {
    const Result<std::int64_t> size = parse_bytes(bad);
    BOOST_TEST(!size.ok(), bad);
    BOOST_TEST((size.status().code() == StatusCode::kInvalidInput), bad);
  }
}

BOOST_AUTO_TEST_CASE(sizes_that_read_alike_are_told_apart) {
  BOOST_TEST(format_bytes_apart(64000, 63999) == "64000 B");
  BOOST_TEST(format_bytes_apart(63999, 64000) == "63999 B");
  BOOST_TEST(format_bytes_apart(64000, 32000) == "62.5 KiB");
  BOOST_TEST(format_bytes_apart(64000, 64000) == "62.5 KiB");
}

BOOST_AUTO_TEST_CASE(decimals_are_those_of_printf) {
  for (const double value :
       {0.0, -0.0, 0.5, 1.005, 2.675, 123456.789, 1e-7, 1e21, -3.25, 1.7e308}) {
    for (const int digits : {1, 2, 4, 9}) {
      std::array<char, 400> buffer{};
      std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, value);
      BOOST_TEST(fixed_decimals(value, digits) == buffer.data());
      std::snprintf(buffer.data(), buffer.size(), "%.*g", digits, value);
      BOOST_TEST(general_decimals(value, digits) == buffer.data());
    }
  }
  BOOST_TEST(fixed_decimals(2.5, 0) == "2");
  BOOST_TEST(fixed_decimals(INFINITY, 2) == "inf");
}

BOOST_AUTO_TEST_CASE(byte_sizes_for_people) {
  BOOST_TEST(format_bytes(0) == "0 B");
  BOOST_TEST(format_bytes(1023) == "1023 B");
  BOOST_TEST(format_bytes(1024) == "1.00 KiB");
  BOOST_TEST(format_bytes(104537985024) == "97.4 GiB");
  BOOST_TEST(format_bytes(std::int64_t{1} << 62) == "4096 PiB");
}

BOOST_AUTO_TEST_CASE(a_suggested_size_is_enough_when_read_back) {
  BOOST_TEST(format_bytes_at_least(0) == "0B");
  BOOST_TEST(format_bytes_at_least(1023) == "1023B");
  BOOST_TEST(format_bytes_at_least(4294967296) == "4GiB");
  BOOST_TEST(format_bytes_at_least(4294967297) == "4.01GiB");
  BOOST_TEST(format_bytes_at_least((1 << 20) - 1) == "1024KiB");
  Rng rng(3);
  for (int i = 0; i < 10000; ++i) {
    const auto bytes = static_cast<std::int64_t>(rng.next() >> (2 + rng.below(60)));
    const std::string text = format_bytes_at_least(bytes);
    const std::int64_t read = parse_bytes(text).value();
    BOOST_TEST((read >= bytes && static_cast<double>(read) <= 1.01 * static_cast<double>(bytes)),
               text << " for " << bytes);
  }
}

BOOST_AUTO_TEST_CASE(random_numbers_are_pinned_so_that_seeds_mean_the_same_everywhere) {
  // First outputs of xoshiro256** seeded by splitmix64(0), as any implementation gives them.
  Rng rng(0);
  BOOST_TEST(rng.next() == 0x99ec5f36cb75f2b4ULL);
  BOOST_TEST(rng.next() == 0xbf6e1f784956452aULL);
  BOOST_TEST(rng.next() == 0x1a5f849d4933e6e0ULL);
}

BOOST_AUTO_TEST_CASE(bounded_draws_are_in_range_and_even) {
  Rng rng(1);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts[rng.below(7)];
  for (int count : counts) BOOST_TEST(std::abs(count - 10000) < 500);  // five standard deviations
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t draw = rng.between(-3, 4);
    BOOST_TEST((draw >= -3 && draw <= 4));
  }
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = rng.normal();
    sum += x;
    squares += x * x;
  }
  BOOST_TEST(std::abs(sum / 1e5) < 0.02);
  BOOST_TEST(std::abs(squares / 1e5 - 1) < 0.03);
}

BOOST_AUTO_TEST_CASE(forked_streams_depend_on_the_seed_alone) {
  Rng a(5);
  const std::uint64_t before = a.fork(3).next();
  a.next();
  BOOST_TEST(a.fork(3).next() == before);
  BOOST_TEST(a.fork(4).next() != before);
  BOOST_TEST(Rng(6).fork(3).next() != before);
}

BOOST_AUTO_TEST_CASE(every_index_runs_once_on_any_number_of_threads) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    BOOST_TEST(pool.size() == threads);
    for (int count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
      std::atomic<bool> worker_in_range = true;
      pool.parallel_for(count, [&](std::int64_t index, int worker) {
        ++seen[static_cast<std::size_t>(index)];
        if (worker < 0 || worker >= threads) worker_in_range = false;
      });
      for (const std::atomic<int>& times : seen) BOOST_TEST(times == 1);
      BOOST_TEST(worker_in_range);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_a_loop_throws_ends_it_and_reaches_its_caller) {
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::atomic<std::int64_t> done = 0;
    const auto throw_at = [&](std::int64_t wrong) {
      pool.parallel_for(1'000'000, [&](std::int64_t index, int) {
        if (index == wrong) throw std::length_error("here");
        ++done;
      });
    };
    BOOST_CHECK_THROW(throw_at(100), std::length_error);
    BOOST_TEST(done < 1'000'000 - 1);
    // The next loop knows nothing of it.
    done = 0;
    pool.parallel_for(1000, [&](std::int64_t, int) { ++done; });
    BOOST_TEST(done == 1000);
  }
}

BOOST_AUTO_TEST_CASE(status_keeps_code_and_gains_context) {
  const Status status = invalid_input("rows is 0").with_context("f.json");
  BOOST_TEST(status.message() == "f.json: rows is 0");
  BOOST_TEST((status.code() == StatusCode::kInvalidInput));
  BOOST_TEST(Status().with_context("x").ok());
  const Result<int> from_ok = Status();
  BOOST_TEST((from_ok.status().code() == StatusCode::kInternal));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
