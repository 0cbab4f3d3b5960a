#include "nn/cpu_backend.h"

#include <cstring>
#include <new>

namespace neuroshard::nn {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

void* CpuBackend::allocate(std::size_t bytes) const {
  return ::operator new(bytes, kAlignment, std::nothrow);
}

void CpuBackend::release(void* memory) const { ::operator delete(memory, kAlignment); }

void CpuBackend::upload(void* to, const void* from, std::size_t bytes) const {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void CpuBackend::download(void* to, const void* from, std::size_t bytes) const {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void CpuBackend::fill_zero(void* memory, std::size_t bytes) const {
  if (bytes > 0) std::memset(memory, 0, bytes);
}

void CpuBackend::run(const GatherRows& op) const {
  const auto bytes = static_cast<std::size_t>(op.width) * sizeof(float);
  for (std::int64_t i = 0; i < op.rows; ++i) {
    std::memcpy(op.out + i * op.width, op.table + std::int64_t{op.index[i]} * op.width, bytes);
  }
}

void CpuBackend::run(const SegmentSumBackward& op) const {
  const auto bytes = static_cast<std::size_t>(op.width) * sizeof(float);
  for (std::int64_t s = 0; s < op.segments; ++s) {
    for (std::int64_t i = op.offsets[s]; i < op.offsets[s + 1]; ++i) {
      std::memcpy(op.dx + i * op.width, op.dy + s * op.width, bytes);
    }
  }
  for (std::int64_t i = op.offsets[op.segments]; i < op.rows; ++i) {
    std::memset(op.dx + i * op.width, 0, bytes);
  }
}

void CpuBackend::run(const Loss& op) const {
  double sum = 0;
  for (std::int64_t i = 0; i < op.count; ++i) {
    const LossValue loss = loss_at(op.spec, op.prediction[i], op.target[i]);
    op.slope[i] = static_cast<float>(op.scale * loss.slope);
    sum += loss.value;
  }
  *op.sum += sum;
}

const Backend& cpu_backend(Isa isa) {
#if defined(__x86_64__)
  if (isa != Isa::kScalar) return avx2_backend();  // processors with AVX-512 have it, too
#endif
  static_cast<void>(isa);
  return scalar_backend();
}

Result<const Backend*> select_backend() {
  NEUROSHARD_ASSIGN_OR_RETURN(const Isa isa, select_isa());
  return &cpu_backend(isa);
}

}  // namespace neuroshard::nn
