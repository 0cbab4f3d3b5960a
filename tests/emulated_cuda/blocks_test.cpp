// Whether the emulated GPU sees what a real one would leave undefined, and does what it would do.
#include "tests/emulated_cuda/blocks.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "tests/emulated_cuda/last_words.h"

namespace neuroshard::emulation {
namespace {

constexpr unsigned kAll = 0xffffffffU;

unsigned thread() { return place.thread.y * place.threads.x + place.thread.x; }

}  // namespace

BOOST_AUTO_TEST_SUITE(blocks)

BOOST_AUTO_TEST_CASE(every_thread_of_every_block_runs_once) {
  std::vector<int> times(5 * 2 * 96);
  run_blocks({5, 2}, {48, 2}, [&] {
    const unsigned number = place.block.y * place.blocks.x + place.block.x;
    ++times[number * 96 + thread()];
  });
  BOOST_TEST(std::count(times.begin(), times.end(), 1) == 5 * 2 * 96);
}

BOOST_AUTO_TEST_CASE(a_barrier_is_passed_when_all_have_come_to_it) {
  // A sum in pairs over 200 threads, of which the last ones have nothing to do and leave.
  std::vector<int> values(200);
  std::iota(values.begin(), values.end(), 1);
  run_blocks({1}, {220}, [&] {
    const unsigned self = thread();
    if (self >= 200) return;
    for (unsigned step = 1; step < 200; step *= 2) {
      const int more = self + step < 200 ? values[self + step] : 0;
      block_barrier();
      values[self] += more;
      block_barrier();
    }
  });
  BOOST_TEST(values[0] == 200 * 201 / 2);
}

BOOST_AUTO_TEST_CASE(shuffles_give_what_the_other_lane_has) {
  std::vector<unsigned> sums(64);
  std::vector<float> firsts(64);
  run_blocks({1}, {64}, [&] {
    unsigned sum = thread();
    for (unsigned bit = 1; bit < kWarpThreads; bit *= 2) {
      sum += shuffle_value(kAll, sum, lane() ^ bit);
    }
    sums[thread()] = sum;
    warp_barrier(kAll);
    firsts[thread()] = shuffle_value(kAll, static_cast<float>(thread()) / 4, 5);
  });
  for (unsigned t = 0; t < 64; ++t) {
    BOOST_TEST(sums[t] == (t < 32 ? 31U * 16U : 31U * 16U + 32U * 32U));
    BOOST_TEST(firsts[t] == (t < 32 ? 1.25F : 9.25F));
  }
}

BOOST_AUTO_TEST_CASE(a_barrier_that_some_threads_pass_by_for_ever_ends_the_program) {
  const std::string words = last_words([] {
    run_blocks({1}, {64}, [] {
      if (thread() < 40) {
        block_barrier();
      } else {
        warp_barrier(kAll);
      }
    });
  });
  BOOST_TEST(says(words, "64 threads of a block wait for each other"), words);
}

BOOST_AUTO_TEST_CASE(a_shuffle_from_a_lane_that_has_left_ends_the_program) {
  const std::string words = last_words([] {
    run_blocks({1}, {32}, [] {
      if (lane() < 16) shuffle_value(kAll, 1, 20);
    });
  });
  BOOST_TEST(says(words, "from a lane that is not there"), words);
}

BOOST_AUTO_TEST_CASE(a_barrier_and_a_shuffle_do_not_meet) {
  const std::string words = last_words([] {
    run_blocks({1}, {32}, [] {
      if (lane() % 2 == 0) {
        warp_barrier(kAll);
      } else {
        shuffle_value(kAll, 1, 0);
      }
    });
  });
  BOOST_TEST(says(words, "wait at different instructions"), words);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::emulation
