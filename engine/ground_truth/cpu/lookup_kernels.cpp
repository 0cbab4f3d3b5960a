// The scalar reference of the lookup's inner loops, and the choice between instruction sets.
#include "engine/ground_truth/cpu/lookup_kernels.h"

#include <algorithm>
#include <cmath>

#include "engine/ground_truth/cpu/kernels_avx2.h"

namespace neuroshard {
namespace {

void pool_bags(const BagBlock& block) {
  for (std::int64_t bag = block.begin; bag < block.end; ++bag) {
    float* out = block.out + bag * block.out_stride;
    std::fill(out, out + block.dim, 0.0F);
    for (std::int64_t i = block.offsets[bag]; i < block.offsets[bag + 1]; ++i) {
      const float* row = block.weights + block.indices[i] * block.dim;
      for (std::int64_t c = 0; c < block.dim; ++c) out[c] += row[c];
    }
  }
}

/// Sum of the gradients of pairs [begin, end), all of one row, into block.scratch.
void sum_gradients(const RunBlock& block, std::int64_t begin, std::int64_t end) {
  const std::uint64_t mask = (std::uint64_t{1} << block.bag_bits) - 1;
  std::fill(block.scratch, block.scratch + block.dim, 0.0F);
  for (std::int64_t i = begin; i < end; ++i) {
    const auto bag = static_cast<std::int64_t>(block.pairs[i] & mask);
    const float* gradient = block.gradient + bag * block.gradient_stride;
    for (std::int64_t c = 0; c < block.dim; ++c) block.scratch[c] += gradient[c];
  }
}

void update_rows(const RunBlock& block) {
  for (std::int64_t begin = 0; begin < block.count;) {
    const std::uint64_t row = block.pairs[begin] >> block.bag_bits;
    std::int64_t end = begin + 1;
    while (end < block.count && block.pairs[end] >> block.bag_bits == row) ++end;
    sum_gradients(block, begin, end);
    float step = block.learning_rate;
    if (block.state != nullptr) {
      float squares = 0;
      for (std::int64_t c = 0; c < block.dim; ++c) squares += block.scratch[c] * block.scratch[c];
      block.state[row] += squares / static_cast<float>(block.dim);
      step /= std::sqrt(block.state[row]) + block.epsilon;
    }
    float* weights = block.weights + static_cast<std::int64_t>(row) * block.dim;
    for (std::int64_t c = 0; c < block.dim; ++c) weights[c] -= step * block.scratch[c];
    begin = end;
  }
}

constexpr LookupKernels kScalarLookupKernels{pool_bags, update_rows};

}  // namespace

const LookupKernels& lookup_kernels(nn::Isa isa) {
#if defined(__x86_64__)
  if (isa != nn::Isa::kScalar) return kAvx2LookupKernels;  // those with AVX-512 have it, too
#endif
  static_cast<void>(isa);
  return kScalarLookupKernels;
}

}  // namespace neuroshard
