#pragma once

// Finds data races in kernels: two threads of a launch at the same memory, one of them writing it,
// with no barrier between that orders them. Barriers are all that our kernels order threads by, so
// that what was seen last of each piece of memory is enough to tell, whatever order the threads ran
// in. A shuffle is none: it hands on registers and orders no memory.
//
// Sees the accesses of sources compiled with -fsanitize=thread, whose calls end here
// (instrumentation.cpp), and those that device_load and device_store tell of.

#include <cstddef>
#include <cstdint>

namespace neuroshard::emulation {

/// The thread that runs now. Its stack is its own.
struct Running {
  unsigned thread = 0;
  const std::byte* stack = nullptr;
  std::size_t stack_bytes = 0;
};

// Called by who runs the blocks, in their order.
void begin_launch();
void begin_block(unsigned threads);
/// All threads of the block have come to a barrier.
void pass_block_barrier();
/// All threads of warp `warp` have.
void pass_warp_barrier(unsigned warp);
void begin_thread(const Running& running);
/// Nothing that is touched from here on is a kernel's doing.
void end_thread();

/// An access found by the compiler, in the function of `code`: ends the program at a race.
void touched(const void* memory, std::size_t bytes, bool write, const void* code);

/// One access of a kernel to `bytes` bytes: ends the program when they are not aligned to their
/// number, as on a GPU, or at a race. `constant`: read by an instruction that asks for memory
/// nobody writes during the launch.
void device_load(const void* from, std::size_t bytes, bool constant);
void device_store(const void* to, std::size_t bytes);

}  // namespace neuroshard::emulation
