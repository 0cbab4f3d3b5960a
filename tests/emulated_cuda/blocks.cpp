#include "tests/emulated_cuda/blocks.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/emulated_cuda/fiber.h"
#include "tests/emulated_cuda/races.h"

namespace neuroshard::emulation {

Place place;

namespace {

enum class Wait { kNothing, kBlock, kWarpBarrier, kShuffle };

struct Thread {
  dim3 index{};
  Fiber* fiber = nullptr;
  Wait wait = Wait::kNothing;
  bool done = false;
  unsigned round = 0;  ///< shuffles so far
};

struct Warp {
  unsigned living = 0;
  unsigned waiting = 0;
  Wait wait = Wait::kNothing;
  // Of two rounds: nobody is more than one ahead.
  std::uint64_t given[2][kWarpThreads] = {};
  unsigned givers[2] = {};  ///< a bit a lane
};

/// The block that runs now.
class Block {
 public:
  Block(dim3 shape, const std::function<void()>& kernel)
      : kernel_(kernel), threads_(shape.x * shape.y * shape.z), living_(threads_.size()) {
    for (unsigned t = 0; t < threads_.size(); ++t) {
      threads_[t].index = {t % shape.x, t / shape.x % shape.y, t / shape.x / shape.y};
    }
    warps_.resize((threads_.size() + kWarpThreads - 1) / kWarpThreads);
    begin_block(static_cast<unsigned>(threads_.size()));
    for (std::size_t t = 0; t < threads_.size(); ++t) ++warps_[t / kWarpThreads].living;
  }

  void run();
  void wait(Wait what, unsigned mask);
  std::uint64_t shuffle(unsigned mask, std::uint64_t bits, unsigned from);
  [[nodiscard]] unsigned lane() const { return static_cast<unsigned>(current_ % kWarpThreads); }

 private:
  [[nodiscard]] Warp& warp() { return warps_[current_ / kWarpThreads]; }
  void enter(std::size_t thread);
  void start_threads(Fiber* fiber);
  void finish();
  void release_warp(std::size_t warp);
  void release_block_if_all_wait();
  [[noreturn]] void stuck() const;

  const std::function<void()>& kernel_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<std::size_t> ready_;  ///< released from a barrier, taken from the back
  std::vector<Fiber*> idle_;        ///< have ended
  std::size_t started_ = 0;
  std::size_t living_;
  std::size_t at_block_barrier_ = 0;
  std::size_t current_ = 0;
  std::size_t fibers_used_ = 0;
};

Block* block = nullptr;

/// Kept from block to block. Function-local, so that it is gone before the program's other statics.
std::vector<std::unique_ptr<Fiber>>& fibers() {
  static std::vector<std::unique_ptr<Fiber>> all;
  return all;
}

void Block::enter(std::size_t thread) {
  current_ = thread;
  place.thread = threads_[thread].index;
  const Fiber& fiber = *threads_[thread].fiber;
  begin_thread({static_cast<unsigned>(thread), fiber.stack(), Fiber::kStackBytes});
}

/// On a fiber: threads that never wait run one after the other on the same one.
void Block::start_threads(Fiber* fiber) {
  while (started_ < threads_.size()) {
    const std::size_t thread = started_++;
    threads_[thread].fiber = fiber;
    enter(thread);
    kernel_();
    end_thread();
    finish();
  }
  idle_.push_back(fiber);
}

void Block::finish() {
  Thread& thread = threads_[current_];
  thread.done = true;
  --living_;
  Warp& mine = warp();
  --mine.living;
  if (mine.living > 0 && mine.waiting == mine.living) release_warp(current_ / kWarpThreads);
  release_block_if_all_wait();
}

void Block::run() {
  while (living_ > 0) {
    if (!ready_.empty()) {
      const std::size_t thread = ready_.back();
      ready_.pop_back();
      enter(thread);
      threads_[thread].fiber->resume();
      continue;
    }
    if (started_ == threads_.size()) stuck();
    if (idle_.empty()) {
      if (fibers_used_ == fibers().size()) fibers().push_back(std::make_unique<Fiber>());
      idle_.push_back(fibers()[fibers_used_++].get());
    }
    Fiber* const fiber = idle_.back();
    idle_.pop_back();
    fiber->start([this, fiber] { start_threads(fiber); });
    fiber->resume();
  }
}

void Block::wait(Wait what, unsigned mask) {
  if (what != Wait::kBlock && mask != 0xffffffffU)
    fail("a warp's barrier or shuffle of some lanes only");
  const std::size_t self = current_;
  Thread& thread = threads_[self];
  thread.wait = what;
  if (what == Wait::kBlock) {
    ++at_block_barrier_;
    release_block_if_all_wait();
  } else {
    Warp& mine = warp();
    if (mine.waiting > 0 && mine.wait != what) {
      fail("lanes of a warp wait at different instructions, a barrier and a shuffle");
    }
    mine.wait = what;
    ++mine.waiting;
    if (mine.waiting == mine.living) release_warp(self / kWarpThreads);
  }
  end_thread();
  thread.fiber->stop();
  thread.wait = Wait::kNothing;
}

void Block::release_warp(std::size_t number) {
  Warp& released = warps_[number];
  released.waiting = 0;
  if (released.wait == Wait::kWarpBarrier) pass_warp_barrier(static_cast<unsigned>(number));
  const std::size_t first = number * kWarpThreads;
  for (std::size_t t = first; t < first + kWarpThreads && t < threads_.size(); ++t) {
    const Wait wait = threads_[t].wait;
    if (!threads_[t].done && (wait == Wait::kWarpBarrier || wait == Wait::kShuffle))
      ready_.push_back(t);
  }
}

void Block::release_block_if_all_wait() {
  if (at_block_barrier_ == 0 || at_block_barrier_ < living_) return;
  at_block_barrier_ = 0;
  pass_block_barrier();
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    if (!threads_[t].done) ready_.push_back(t);
  }
}

std::uint64_t Block::shuffle(unsigned mask, std::uint64_t bits, unsigned from) {
  Warp& mine = warp();
  const unsigned parity = threads_[current_].round++ % 2;
  const unsigned self = lane();
  if (mine.waiting == 0) mine.givers[parity] = 0;
  mine.given[parity][self] = bits;
  mine.givers[parity] |= 1U << self;
  wait(Wait::kShuffle, mask);
  if (from >= kWarpThreads || (mine.givers[parity] >> from & 1U) == 0) {
    fail("a shuffle from a lane that is not there");
  }
  return mine.given[parity][from];
}

void Block::stuck() const {
  std::size_t at_block = 0;
  std::size_t in_warps = 0;
  for (const Thread& thread : threads_) {
    at_block += thread.wait == Wait::kBlock ? 1 : 0;
    in_warps += thread.wait == Wait::kWarpBarrier || thread.wait == Wait::kShuffle ? 1 : 0;
  }
  const std::string text = std::to_string(living_) +
                           " threads of a block wait for each other: " + std::to_string(at_block) +
                           " at __syncthreads, " + std::to_string(in_warps) + " within warps";
  fail(text.c_str());
}

}  // namespace

void run_blocks(dim3 blocks, dim3 threads, const std::function<void()>& kernel) {
  place.threads = threads;
  place.blocks = blocks;
  begin_launch();
  for (unsigned z = 0; z < blocks.z; ++z) {
    for (unsigned y = 0; y < blocks.y; ++y) {
      for (unsigned x = 0; x < blocks.x; ++x) {
        place.block = {x, y, z};
        Block here(threads, kernel);
        block = &here;
        here.run();
        block = nullptr;
      }
    }
  }
}

void block_barrier() { block->wait(Wait::kBlock, 0xffffffffU); }
void warp_barrier(unsigned mask) { block->wait(Wait::kWarpBarrier, mask); }
std::uint64_t shuffle(unsigned mask, std::uint64_t bits, unsigned from) {
  return block->shuffle(mask, bits, from);
}
unsigned lane() { return block->lane(); }

void fail(const char* what) {
  std::fprintf(stderr, "emulated GPU: %s\n", what);
  std::abort();
}

}  // namespace neuroshard::emulation
