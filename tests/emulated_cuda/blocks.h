#pragma once

// Kernels on the CPU, block after block: each thread of a block is a fiber of the calling thread,
// so that barriers, shuffles and who works on what are as on a GPU. Nothing of its memory, its
// speed or its thousands of threads at once is in it. What a GPU would leave undefined (threads of
// a warp at different barriers, a shuffle from a lane that is not there) ends the program with a
// line that says what happened.

#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

/// As CUDA's.
struct dim3 {
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  unsigned x;
  unsigned y;
  unsigned z;
};

namespace neuroshard::emulation {

inline constexpr unsigned kWarpThreads = 32;

/// Where the running thread is.
struct Place {
  dim3 thread;
  dim3 block;
  dim3 threads;
  dim3 blocks;
};
extern Place place;

/// Runs `kernel` for every thread of every block, in an order that nobody may rely on. One launch
/// at a time in a process: callers see to that.
void run_blocks(dim3 blocks, dim3 threads, const std::function<void()>& kernel);

// For kernels.
void block_barrier();
void warp_barrier(unsigned mask);
/// The bits that lane `from` of the warp has given; lanes of the warp that have not returned call
/// it together.
std::uint64_t shuffle(unsigned mask, std::uint64_t bits, unsigned from);
unsigned lane();

template <typename Value>
Value shuffle_value(unsigned mask, Value value, unsigned from) {
  static_assert(std::is_trivially_copyable_v<Value> && sizeof value <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = shuffle(mask, bits, from);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Ends the program: the work given to the GPU is one that a GPU would not do.
[[noreturn]] void fail(const char* what);

}  // namespace neuroshard::emulation
