#include "engine/ground_truth/cpu/gradient_sum.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/ground_truth/requests/request.h"

namespace neuroshard {

GradientSum::GradientSum(std::int64_t values, std::vector<float*> buffers, RankBarrier& barrier)
    : first_value_{0},
      buffers_(std::move(buffers)),
      barrier_(barrier),
      received_(buffers_.size(), 0) {
  const auto ranks = std::ssize(buffers_);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    first_value_.push_back(first_value_.back() + samples_of_device(values, ranks, rank));
  }
}

void GradientSum::run(int rank) {
  const auto own = static_cast<std::size_t>(rank);
  const std::int64_t begin = first_value_[own];
  const std::int64_t end = first_value_[own + 1];
  float* mine = buffers_[own];
  barrier_.wait();  // all have their gradients
  for (std::int64_t k = begin; k < end; ++k) {
    float sum = 0;
    for (const float* buffer : buffers_) sum += buffer[k];
    mine[k] = sum;
  }
  barrier_.wait();  // all parts are there
  std::int64_t values = (end - begin) * (std::ssize(buffers_) - 1);
  for (std::size_t other = 0; other < buffers_.size(); ++other) {
    if (other == own) continue;
    const std::int64_t first = first_value_[other];
    const std::int64_t count = first_value_[other + 1] - first;
    std::copy_n(buffers_[other] + first, count, mine + first);
    values += count;
  }
  received_[own] += values * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace neuroshard
