#include "tests/emulated_cuda/races.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tests/emulated_cuda/blocks.h"

namespace neuroshard::emulation {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kCellBytes = 2;  ///< what kernels touch at once at the least

// In place of a thread: more than one has read.
constexpr std::uint16_t kManyBlocks = 0xffff;
constexpr std::uint16_t kManyWarps = 0xfffe;
constexpr std::uint16_t kManyLanes = 0x8000;  ///< with a thread of the warp

/// Who touched a piece of memory last, and between which barriers.
struct Touch {
  std::uint32_t interval = 0;  ///< of the block, 0: never
  std::uint16_t round = 0;     ///< of the warp, within the interval
  std::uint16_t thread = 0;
};
struct Cell {
  Touch written;
  Touch read;
  std::uint32_t constant = 0;  ///< the interval in which it was last read as constant
};
struct Page {
  bool of_block = false;  ///< __shared__: a block knows nothing of what others did there
  std::array<Cell, kPageBytes / kCellBytes> cells;
};

struct Launches {
  // Intervals count through all launches: what is older than its launch or block is forgotten.
  std::uint32_t interval = 0;
  std::uint32_t launchs_first = 1;
  std::uint32_t blocks_first = 1;
  std::vector<std::uint16_t> rounds;  ///< per warp
  Running running;
  bool on = false;
  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages;
  std::uintptr_t last_address = 0;
  Page* last_page = nullptr;
};
Launches launches;

void begin_interval() {
  if (++launches.interval == 0) fail("more barriers than are counted");
  for (std::uint16_t& round : launches.rounds) round = 0;
}

Page& page_of(std::uintptr_t number) {
  if (launches.last_page != nullptr && launches.last_address == number) return *launches.last_page;
  std::unique_ptr<Page>& page = launches.pages[number];
  if (!page) {
    page = std::make_unique<Page>();
    // A kernel's static variables are its shared memory; all else was allocated.
    Dl_info module;
    page->of_block = dladdr(reinterpret_cast<const void*>(number * kPageBytes), &module) != 0;
  }
  launches.last_address = number;
  launches.last_page = page.get();
  return *page;
}

unsigned warp_of(unsigned thread) { return thread / kWarpThreads; }

/// Whether no barrier orders `before`, of the block's interval that runs, and the running thread.
bool beside(const Touch& before) {
  const unsigned self = launches.running.thread;
  if (before.thread == kManyWarps) return true;
  const unsigned thread = before.thread & ~unsigned{kManyLanes};
  if (warp_of(thread) != warp_of(self)) return true;
  if (before.round < launches.rounds[warp_of(self)]) return false;
  return before.thread != self;
}

bool races(const Touch& before, std::uint32_t oldest) {
  if (before.interval < oldest) return false;
  if (before.thread == kManyBlocks || before.interval < launches.blocks_first) return true;
  return before.interval == launches.interval && beside(before);
}

Touch now() {
  const unsigned self = launches.running.thread;
  return {launches.interval, launches.rounds[warp_of(self)], static_cast<std::uint16_t>(self)};
}

/// What `before` and the running thread's read come to.
Touch both_read(const Touch& before, std::uint32_t oldest) {
  Touch read = now();
  if (!races(before, oldest)) return read;
  if (before.thread == kManyBlocks || before.interval < launches.blocks_first) {
    read.thread = kManyBlocks;
  } else if (before.thread == kManyWarps ||
             warp_of(before.thread & ~unsigned{kManyLanes}) != warp_of(launches.running.thread)) {
    read.thread = kManyWarps;
  } else {
    read.thread |= kManyLanes;
  }
  return read;
}

/// `code`: an address that addr2line finds in its file.
[[noreturn]] void fail_at(const void* memory, bool written, const char* before, const void* code) {
  char where[160] = "";
  Dl_info module{};
  if (code != nullptr && dladdr(code, &module) != 0) {
    const auto offset =
        static_cast<const std::byte*>(code) - static_cast<const std::byte*>(module.dli_fbase);
    std::snprintf(where, sizeof where, ", at %s+0x%tx", module.dli_fname, offset);
  }
  char text[320];
  std::snprintf(text, sizeof text, "thread %u of block %u,%u,%u %s %p, which %s%s",
                launches.running.thread, place.block.x, place.block.y, place.block.z,
                written ? "writes" : "reads", memory, before, where);
  fail(text);
}

constexpr const char* kWrote = "another thread of the launch writes, with no barrier between";
constexpr const char* kRead = "another thread of the launch reads, with no barrier between";
constexpr const char* kConstant = "the launch has read as memory that it does not write";
constexpr const char* kWritten = "the launch has written, as memory that it does not write";

void touch(const void* memory, std::size_t bytes, bool write, bool constant, const void* code) {
  if (!launches.on) return;
  const auto* const first = static_cast<const std::byte*>(memory);
  const Running& self = launches.running;
  if (first >= self.stack && first < self.stack + self.stack_bytes) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  for (std::uintptr_t at = begin / kCellBytes; at * kCellBytes < begin + bytes; ++at) {
    Page& page = page_of(at * kCellBytes / kPageBytes);
    Cell& cell = page.cells[at % page.cells.size()];
    const std::uint32_t oldest = page.of_block ? launches.blocks_first : launches.launchs_first;
    if (races(cell.written, oldest)) fail_at(memory, write, kWrote, code);
    if (write) {
      if (races(cell.read, oldest)) fail_at(memory, write, kRead, code);
      if (cell.constant >= oldest) fail_at(memory, write, kConstant, code);
      cell.written = now();
    } else {
      cell.read = both_read(cell.read, oldest);
      if (constant) {
        if (cell.written.interval >= oldest) fail_at(memory, write, kWritten, code);
        cell.constant = launches.interval;
      }
    }
  }
}

void aligned(const void* memory, std::size_t bytes, bool write) {
  if (launches.on && reinterpret_cast<std::uintptr_t>(memory) % bytes != 0)
    fail_at(memory, write, "is not aligned to the size of the access", nullptr);
}

}  // namespace

void begin_launch() { launches.launchs_first = launches.interval + 1; }

void begin_block(unsigned threads) {
  if (threads >= kManyLanes) fail("a block of more threads than a GPU runs");
  launches.rounds.assign(warp_of(threads + kWarpThreads - 1), 0);
  begin_interval();
  launches.blocks_first = launches.interval;
}

void pass_block_barrier() { begin_interval(); }

void pass_warp_barrier(unsigned warp) {
  if (++launches.rounds[warp] == 0) fail("more barriers of a warp than are counted");
}

void begin_thread(const Running& running) {
  launches.running = running;
  launches.on = true;
}

void end_thread() { launches.on = false; }

void touched(const void* memory, std::size_t bytes, bool write, const void* code) {
  touch(memory, bytes, write, false, code);
}

void device_load(const void* from, std::size_t bytes, bool constant) {
  aligned(from, bytes, false);
  touch(from, bytes, false, constant, nullptr);
}

void device_store(const void* to, std::size_t bytes) {
  aligned(to, bytes, true);
  touch(to, bytes, true, false, nullptr);
}

}  // namespace neuroshard::emulation
