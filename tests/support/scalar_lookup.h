#pragma once

#include <cstddef>
#include <vector>

#include "engine/core/thread_pool.h"
#include "engine/ground_truth/cpu/fused_lookup.h"
#include "engine/ground_truth/cpu/lookup_kernels.h"

namespace neuroshard::test {

/// What the CPU's scalar kernels pool, [bags, columns]; then one step back from `gradient`, of the
/// same size, updates the weights and states of `batch`. A batch has `bags`, `columns`, and per
/// table `shapes` (rows, dim, optimizer), `streams`, `weights` and `states`.
template <typename Batch>
std::vector<float> run_on_cpu(Batch& batch, const float* gradient) {
  std::vector<LookupShard> shards;
  for (std::size_t t = 0; t < batch.shapes.size(); ++t) {
    shards.push_back({&batch.streams[t], batch.shapes[t].rows, batch.shapes[t].dim,
                      batch.weights[t].data(), batch.states[t].data(), batch.shapes[t].optimizer});
  }
  FusedLookup lookup(shards, batch.bags, lookup_kernels(nn::Isa::kScalar));
  ThreadPool pool(0);
  std::vector<float> out(static_cast<std::size_t>(batch.bags * batch.columns));
  lookup.forward(pool, out.data());
  lookup.backward(pool, gradient);
  return out;
}

}  // namespace neuroshard::test
