// Whether races of kernels are seen, and nothing is that barriers order.
#include "tests/emulated_cuda/races.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tests/emulated_cuda/blocks.h"
#include "tests/emulated_cuda/last_words.h"

namespace neuroshard::emulation {
namespace {

constexpr unsigned kAll = 0xffffffffU;
constexpr unsigned kThreads = 96;  ///< three warps

unsigned self() { return place.thread.x; }

/// As kernels do that tell of their accesses themselves.
float load(const float& from) {
  device_load(&from, sizeof from, false);
  return from;
}
float load_constant(const float& from) {
  device_load(&from, sizeof from, true);
  return from;
}
void store(float& to, float value) {
  device_store(&to, sizeof to);
  to = value;
}

using Kernel = std::function<void(float* memory)>;

/// What the program says at a race; empty when it sees none. A value per thread of all blocks.
std::string race(unsigned blocks, const Kernel& kernel) {
  return last_words([&] {
    std::vector<float> memory(std::size_t{blocks} * kThreads);
    run_blocks({blocks}, {kThreads}, [&] { kernel(memory.data()); });
  });
}

/// Which of two accesses comes first is the emulation's business.
bool is_race(const std::string& words) {
  return says(words, "another thread of the launch writes, with no barrier between") ||
         says(words, "another thread of the launch reads, with no barrier between");
}

void nothing() {}
void lanes_meet() { warp_barrier(kAll); }
/// Hands on a register.
void lanes_shuffle() { shuffle_value(kAll, 1, 0); }

/// Every thread writes its value and reads that of thread self ^ bit.
std::string write_then_read(unsigned bit, const std::function<void()>& between) {
  return race(1, [&](float* memory) {
    store(memory[self()], 1);
    between();
    if ((self() ^ bit) < kThreads) load(memory[self() ^ bit]);
  });
}

/// Every thread reads the value of thread self ^ bit and writes its own.
std::string read_then_write(unsigned bit, const std::function<void()>& between) {
  return race(1, [&](float* memory) {
    if ((self() ^ bit) < kThreads) load(memory[self() ^ bit]);
    between();
    store(memory[self()], 1);
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(races)

BOOST_AUTO_TEST_CASE(lanes_of_a_warp_are_ordered_by_barriers_of_the_warp_and_of_the_block) {
  BOOST_TEST(is_race(write_then_read(1, nothing)));
  BOOST_TEST(is_race(write_then_read(1, lanes_shuffle)));
  BOOST_TEST(write_then_read(1, lanes_meet) == "");
  BOOST_TEST(write_then_read(1, block_barrier) == "");
  BOOST_TEST(is_race(read_then_write(1, nothing)));
  BOOST_TEST(is_race(read_then_write(1, lanes_shuffle)));
  BOOST_TEST(read_then_write(1, lanes_meet) == "");
  BOOST_TEST(read_then_write(1, block_barrier) == "");
}

BOOST_AUTO_TEST_CASE(warps_of_a_block_are_ordered_by_its_barriers_alone) {
  BOOST_TEST(is_race(write_then_read(32, lanes_meet)));
  BOOST_TEST(write_then_read(32, block_barrier) == "");
  BOOST_TEST(is_race(read_then_write(32, lanes_meet)));
  BOOST_TEST(read_then_write(32, block_barrier) == "");
}

BOOST_AUTO_TEST_CASE(blocks_of_a_launch_are_not_ordered) {
  for (const bool first_reads : {false, true}) {
    const std::string words = race(2, [&](float* memory) {
      if (self() != 0) return;
      if (first_reads == (place.block.x == 0)) {
        load(memory[0]);
      } else {
        store(memory[0], 1);
      }
    });
    BOOST_TEST(is_race(words), words);
  }
}

BOOST_AUTO_TEST_CASE(launches_are_ordered) {
  std::vector<float> memory(kThreads);
  for (unsigned shift : {0U, 1U, 40U}) {
    run_blocks({2}, {kThreads}, [&] {
      if (place.block.x == 0) store(memory[(self() + shift) % kThreads], 1);
    });
  }
  run_blocks({2}, {kThreads}, [&] { load(memory[self() / 2]); });
  run_blocks({1}, {kThreads}, [&] { store(memory[self()], 2); });
  BOOST_TEST(memory[kThreads - 1] == 2);
}

BOOST_AUTO_TEST_CASE(two_writers_are_a_race_though_they_write_the_same) {
  BOOST_TEST(is_race(race(1, [](float* memory) { store(memory[self() / 2], 1); })));
  BOOST_TEST(is_race(race(2, [](float* memory) { store(memory[self()], 1); })));
}

BOOST_AUTO_TEST_CASE(who_writes_waits_for_every_reader) {
  // All have read; the writer is one of them, and is the last that the detector saw.
  const auto all_read = [](unsigned readers, unsigned writer, unsigned blocks) {
    return race(blocks, [=](float* memory) {
      if (self() < readers) load(memory[0]);
      if (self() == writer && place.block.x + 1 == place.blocks.x) store(memory[0], 1);
    });
  };
  BOOST_TEST(is_race(all_read(2, 1, 1)));
  BOOST_TEST(is_race(all_read(kThreads, kThreads - 1, 1)));
  BOOST_TEST(is_race(all_read(1, 0, 2)));
  BOOST_TEST(all_read(1, 0, 1) == "");
}

BOOST_AUTO_TEST_CASE(shared_memory_is_each_blocks_own) {
  BOOST_TEST(race(3, [](float*) {
               static float shared[kThreads];
               store(shared[self()], 1);
               block_barrier();
               load(shared[kThreads - 1 - self()]);
             }) == "");
  BOOST_TEST(is_race(race(1, [](float*) {
    static float shared[kThreads];
    store(shared[self()], 1);
    load(shared[kThreads - 1 - self()]);
  })));
}

BOOST_AUTO_TEST_CASE(halves_of_a_word_are_not_each_other) {
  BOOST_TEST(race(1, [](float* memory) {
               device_store(reinterpret_cast<std::uint16_t*>(memory) + self(), 2);
             }) == "");
}

BOOST_AUTO_TEST_CASE(what_is_read_as_constant_is_written_by_no_thread_of_the_launch) {
  const auto constant_then_written = [](float* memory) {
    load_constant(memory[self()]);
    block_barrier();
    store(memory[self()], 1);
  };
  BOOST_TEST(says(race(1, constant_then_written), "has read as memory that it does not write"));
  const auto written_then_constant = [](float* memory) {
    store(memory[self()], 1);
    block_barrier();
    load_constant(memory[self()]);
  };
  BOOST_TEST(says(race(1, written_then_constant), "has written, as memory that it does not write"));
}

BOOST_AUTO_TEST_CASE(an_access_that_is_not_aligned_ends_the_program) {
  const auto at = [](unsigned floats) {
    return race(1, [=](float* memory) {
      if (self() == 0) device_load(memory + floats, 16, false);
    });
  };
  BOOST_TEST(at(4) == "");
  BOOST_TEST(says(at(2), "not aligned"));
}

#if !defined(NEUROSHARD_SANITIZED)
BOOST_AUTO_TEST_CASE(accesses_that_the_compiler_tells_of_are_seen) {
  const auto sum = [](bool wait) {
    return race(1, [=](float* memory) {
      memory[self()] = 1;
      if (wait) block_barrier();
      if (self() == 0) memory[0] += memory[kThreads - 1];
    });
  };
  BOOST_TEST(sum(true) == "");
  const std::string words = sum(false);
  BOOST_TEST((is_race(words) && says(words, "test_emulated_cuda+0x")), words);
}
#endif

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::emulation
