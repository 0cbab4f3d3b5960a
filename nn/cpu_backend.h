#pragma once

#include "nn/backend.h"

namespace neuroshard::nn {

/// What the CPU backends share: host memory, and the operations that only move data or touch one
/// value a sample. Everything runs at once on the calling thread.
class CpuBackend : public Backend {
 public:
  void* allocate(std::size_t bytes) const override;
  void release(void* memory) const override;
  void upload(void* to, const void* from, std::size_t bytes) const override;
  void download(void* to, const void* from, std::size_t bytes) const override;
  void fill_zero(void* memory, std::size_t bytes) const override;
  Status synchronize() const override { return {}; }

  using Backend::run;
  void run(const GatherRows& op) const override;
  void run(const SegmentSumBackward& op) const override;
  void run(const Loss& op) const override;
};

/// Plain loops in a fixed order, without contraction or reassociation: what the others are tested
/// against, and the same bits on every compiler.
const Backend& scalar_backend();

/// Register-tiled AVX2 + FMA kernels. REQUIRES a processor that has both. Defined only on x86-64.
const Backend& avx2_backend();

}  // namespace neuroshard::nn
