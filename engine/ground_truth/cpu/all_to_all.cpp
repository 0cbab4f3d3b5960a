#include "engine/ground_truth/cpu/all_to_all.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "engine/ground_truth/requests/request.h"

namespace neuroshard {

void RankBarrier::wait() {
  std::unique_lock lock(mutex_);
  const std::int64_t generation = generation_;
  if (++here_ == ranks_) {
    here_ = 0;
    ++generation_;
    all_here_.notify_all();
    return;
  }
  // For the next number, not for nobody to be here: whoever leaves first may come to the next
  // barrier before all others have woken up.
  all_here_.wait(lock, [&] { return generation_ != generation; });
}

AllToAll::AllToAll(std::span<const std::int64_t> dims, std::int64_t batch_size,
                   std::vector<Buffers> buffers)
    : dims_(dims.begin(), dims.end()),
      first_column_{0},
      first_sample_{0},
      buffers_(std::move(buffers)),
      rounds_(dims.size(), 0) {
  const auto ranks = static_cast<std::int64_t>(dims.size());
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    first_column_.push_back(first_column_.back() + dims[static_cast<std::size_t>(rank)]);
    first_sample_.push_back(first_sample_.back() + samples_of_device(batch_size, ranks, rank));
  }
}

std::int64_t AllToAll::post(int rank) {
  std::int64_t round = 0;
  {
    const std::lock_guard lock(mutex_);
    round = ++rounds_[static_cast<std::size_t>(rank)];
  }
  posted_.notify_all();
  return round;
}

void AllToAll::wait_for(int rank, std::int64_t round) {
  std::unique_lock lock(mutex_);
  posted_.wait(lock, [&] { return rounds_[static_cast<std::size_t>(rank)] >= round; });
}

// From itself on, so that the ranks do not all read from the same one at the same time. Backward,
// too.
void AllToAll::forward(int rank) {
  const std::int64_t round = post(rank);
  for (int step = 0; step < ranks(); ++step) {
    const int from = (rank + step) % ranks();
    wait_for(from, round);
    receive_forward(rank, from);
  }
}

void AllToAll::backward(int rank) {
  const std::int64_t round = post(rank);
  for (int step = 0; step < ranks(); ++step) {
    const int from = (rank + step) % ranks();
    wait_for(from, round);
    receive_backward(rank, from);
  }
}

void AllToAll::receive_forward(int rank, int from) {
  const std::int64_t dim = dims_[static_cast<std::size_t>(from)];
  if (dim == 0) return;
  const float* source = buffers_[static_cast<std::size_t>(from)].pooled + first_sample(rank) * dim;
  float* target = buffers_[static_cast<std::size_t>(rank)].local + first_column(from);
  const std::int64_t samples = first_sample(rank + 1) - first_sample(rank);
  for (std::int64_t i = 0; i < samples; ++i) {
    std::memcpy(target + i * columns(), source + i * dim, static_cast<std::size_t>(dim) * 4);
  }
}

void AllToAll::receive_backward(int rank, int from) {
  const std::int64_t dim = dims_[static_cast<std::size_t>(rank)];
  if (dim == 0) return;
  const float* source = buffers_[static_cast<std::size_t>(from)].local + first_column(rank);
  float* target = buffers_[static_cast<std::size_t>(rank)].pooled + first_sample(from) * dim;
  const std::int64_t samples = first_sample(from + 1) - first_sample(from);
  for (std::int64_t i = 0; i < samples; ++i) {
    std::memcpy(target + i * dim, source + i * columns(), static_cast<std::size_t>(dim) * 4);
  }
}

}  // namespace neuroshard
