#include "engine/ground_truth/cpu/fused_lookup.h"

#include <algorithm>
#include <utility>

namespace neuroshard {
namespace {

constexpr std::int64_t kBagsPerBlock = 256;

}  // namespace

FusedLookup::FusedLookup(std::vector<LookupShard> shards, std::int64_t bags,
                         const LookupKernels& kernels, LookupHyperparameters hyperparameters)
    : shards_(std::move(shards)),
      bags_(bags),
      kernels_(kernels),
      hyperparameters_(hyperparameters) {
  for (const LookupShard& shard : shards_) {
    first_column_.push_back(columns_);
    columns_ += shard.dim;
    widest_ = std::max(widest_, (shard.dim + 15) / 16 * 16);
  }
}

void FusedLookup::forward(ThreadPool& pool, float* out) const {
  const std::int64_t blocks = (bags_ + kBagsPerBlock - 1) / kBagsPerBlock;
  const auto shards = static_cast<std::int64_t>(shards_.size());
  pool.parallel_for(shards * blocks, [&](std::int64_t piece, int) {
    const auto index = static_cast<std::size_t>(piece / blocks);
    const LookupShard& shard = shards_[index];
    const std::int64_t begin = piece % blocks * kBagsPerBlock;
    kernels_.pool_bags({shard.weights, shard.dim, shard.stream->indices.data(),
                        shard.stream->offsets.data(), shard.stream->lookups(), begin,
                        std::min(begin + kBagsPerBlock, bags_), out + first_column_[index],
                        columns_});
  });
}

void FusedLookup::backward(ThreadPool& pool, const float* gradient) {
  std::vector<RowSort::Input> inputs;
  inputs.reserve(shards_.size());
  for (const LookupShard& shard : shards_) inputs.push_back({shard.stream, shard.rows});
  sort_.sort(inputs, pool);
  scratch_.resize(static_cast<std::size_t>(widest_ * pool.size()));
  const std::vector<RowSort::Bucket>& buckets = sort_.buckets();
  pool.parallel_for(static_cast<std::int64_t>(buckets.size()), [&](std::int64_t piece, int worker) {
    const RowSort::Bucket& bucket = buckets[static_cast<std::size_t>(piece)];
    const auto index = static_cast<std::size_t>(bucket.shard);
    const LookupShard& shard = shards_[index];
    const bool adagrad = shard.optimizer == Optimizer::kRowwiseAdagrad;
    kernels_.update_rows({sort_.pairs() + bucket.begin, bucket.end - bucket.begin, sort_.bag_bits(),
                          gradient + first_column_[index], columns_, shard.weights,
                          adagrad ? shard.state : nullptr, shard.dim,
                          hyperparameters_.learning_rate, hyperparameters_.epsilon,
                          scratch_.data() + worker * widest_});
  });
}

}  // namespace neuroshard
