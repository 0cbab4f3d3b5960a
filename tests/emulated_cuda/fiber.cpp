#include "tests/emulated_cuda/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "tests/emulated_cuda/blocks.h"

#if defined(__SANITIZE_ADDRESS__)
#define NEUROSHARD_FIBER_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NEUROSHARD_FIBER_SANITIZED
#endif
#endif
#if defined(NEUROSHARD_FIBER_SANITIZED)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// Stores the stack pointer in `*from` and goes on where `to` was stored. Not swapcontext, which
// calls the kernel for the signal mask: four fifths of the tests' time.
extern "C" void neuroshard_switch_stack(void** from, void* to);
#if defined(__x86_64__)
asm(R"(
.text
.type neuroshard_switch_stack, @function
.local neuroshard_switch_stack
neuroshard_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
#elif defined(__aarch64__)
asm(R"(
.text
.type neuroshard_switch_stack, @function
.local neuroshard_switch_stack
neuroshard_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
)");
#else
#error "no way to change stacks on this processor"
#endif

namespace neuroshard::emulation {
namespace {

#if defined(NEUROSHARD_FIBER_SANITIZED)
void before_switch(void** frames, const void* stack, std::size_t bytes) {
  __sanitizer_start_switch_fiber(frames, stack, bytes);
}
void after_switch(void* frames, const void** stack, std::size_t* bytes) {
  __sanitizer_finish_switch_fiber(frames, stack, bytes);
}
/// Those that were left for good: what they have called has returned, so they are at the top.
void forget_frames(const std::byte* stack) {
  constexpr std::size_t kLeft = 8192;
  __asan_unpoison_memory_region(stack + Fiber::kStackBytes - kLeft, kLeft);
}
#else
void before_switch(void**, const void*, std::size_t) {}
void after_switch(void*, const void**, std::size_t*) {}
void forget_frames(const std::byte*) {}
#endif

/// What neuroshard_switch_stack finds on a stack, so that it goes on at `entry`.
void* prepare(std::byte* top, void (*entry)()) {
#if defined(__x86_64__)
  constexpr std::size_t kSaved = 6 * 8;
  constexpr std::size_t kEntry = kSaved;
  constexpr std::size_t kFrame = kSaved + 2 * 8;  // entry, and a return address for who looks
#else
  constexpr std::size_t kEntry = 88;
  constexpr std::size_t kFrame = 160;
#endif
  std::byte* const frame = top - kFrame;
  std::memset(frame, 0, kFrame);
  std::memcpy(frame + kEntry, &entry, sizeof entry);
  return frame;
}

Fiber* entered = nullptr;  ///< by the switch that enters it

}  // namespace

Fiber::Fiber() {
  void* memory =
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("no memory for the stack of a thread");
  stack_ = static_cast<std::byte*>(memory);
}

Fiber::~Fiber() {
  forget_frames(stack_);
  munmap(stack_, kStackBytes);
}

void Fiber::start(std::function<void()> work) {
  work_ = std::move(work);
  forget_frames(stack_);
  own_frames_ = nullptr;
  own_ = prepare(stack_ + kStackBytes, &Fiber::enter);
}

void Fiber::resume() {
  void* frames = nullptr;
  entered = this;
  before_switch(&frames, stack_, kStackBytes);
  neuroshard_switch_stack(&resumers_, own_);
  after_switch(frames, nullptr, nullptr);
}

void Fiber::leave(bool for_good) {
  before_switch(for_good ? nullptr : &own_frames_, resumers_stack_, resumers_bytes_);
  neuroshard_switch_stack(&own_, resumers_);
  after_switch(own_frames_, &resumers_stack_, &resumers_bytes_);
}

void Fiber::enter() {
  Fiber* const self = entered;
  after_switch(nullptr, &self->resumers_stack_, &self->resumers_bytes_);
  self->work_();
  self->leave(true);
}

}  // namespace neuroshard::emulation
