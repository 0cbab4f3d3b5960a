// What sources compiled with -fsanitize=thread call, in place of the compiler's library, which
// knows nothing of a GPU's threads.
#include <cstddef>
#include <cstdint>

#include "tests/emulated_cuda/races.h"

using neuroshard::emulation::touched;

#define NEUROSHARD_ACCESS(name, bytes, write)                   \
  extern "C" void __tsan_##name(void* memory) {                 \
    touched(memory, bytes, write, __builtin_return_address(0)); \
  }
#define NEUROSHARD_ACCESSES(bytes)             \
  NEUROSHARD_ACCESS(read##bytes, bytes, false) \
  NEUROSHARD_ACCESS(write##bytes, bytes, true)
NEUROSHARD_ACCESSES(1)
NEUROSHARD_ACCESSES(2)
NEUROSHARD_ACCESSES(4)
NEUROSHARD_ACCESSES(8)
NEUROSHARD_ACCESSES(16)
NEUROSHARD_ACCESS(unaligned_read2, 2, false)
NEUROSHARD_ACCESS(unaligned_read4, 4, false)
NEUROSHARD_ACCESS(unaligned_read8, 8, false)
NEUROSHARD_ACCESS(unaligned_read16, 16, false)
NEUROSHARD_ACCESS(unaligned_write2, 2, true)
NEUROSHARD_ACCESS(unaligned_write4, 4, true)
NEUROSHARD_ACCESS(unaligned_write8, 8, true)
NEUROSHARD_ACCESS(unaligned_write16, 16, true)
extern "C" {
void __tsan_read_range(void* memory, std::size_t bytes) {
  touched(memory, bytes, false, __builtin_return_address(0));
}
void __tsan_write_range(void* memory, std::size_t bytes) {
  touched(memory, bytes, true, __builtin_return_address(0));
}
void __tsan_vptr_read(void** /*object*/) {}
void __tsan_vptr_update(void** /*object*/, void* /*table*/) {}
void __tsan_func_entry(void* /*caller*/) {}
void __tsan_func_exit() {}
void __tsan_init() {}

// Of the tests beside the kernels, which have none.
std::uint8_t __tsan_atomic8_load(const volatile std::uint8_t* from, int /*order*/) {
  return __atomic_load_n(from, __ATOMIC_SEQ_CST);
}
std::uint32_t __tsan_atomic32_fetch_add(volatile std::uint32_t* to, std::uint32_t value, int) {
  return __atomic_fetch_add(to, value, __ATOMIC_SEQ_CST);
}
std::uint32_t __tsan_atomic32_fetch_sub(volatile std::uint32_t* to, std::uint32_t value, int) {
  return __atomic_fetch_sub(to, value, __ATOMIC_SEQ_CST);
}
}
