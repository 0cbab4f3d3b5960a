#include "search/local/sum_tree.h"

#include <numeric>

namespace neuroshard::search {

void SumTree::reset(std::size_t width, const float* zeros) {
  width_ = width;
  zeros_ = zeros;
  leaves_.assign(2, zeros);
  inner_.assign(2 * width, 0.0f);
  stale_.clear();
}

void SumTree::update(std::size_t index) {
  const float* left = node(2 * index);
  const float* right = node(2 * index + 1);
  float* sum = inner_.data() + index * width_;
  for (std::size_t k = 0; k < width_; ++k) sum[k] = left[k] + right[k];
}

/// All of it anew.
void SumTree::grow() {
  leaves_.resize(2 * leaves_.size(), zeros_);
  inner_.resize(leaves_.size() * width_);
  stale_.resize(leaves_.size() / 2);
  std::iota(stale_.begin(), stale_.end(), leaves_.size() / 2);
}

void SumTree::set(std::size_t slot, const float* addend) {
  while (slot >= leaves_.size()) grow();
  leaves_[slot] = addend == nullptr ? zeros_ : addend;
  const std::size_t above = (leaves_.size() + slot) / 2;
  if (stale_.empty() || stale_.back() != above) stale_.push_back(above);
}

/// Level by level: all leaves are equally deep. Nodes are in any order, and a few of them twice
/// costs less than keeping them apart.
void SumTree::settle_stale() {
  for (bool above = true; above;) {
    std::size_t count = 0;
    for (const std::size_t index : stale_) {
      update(index);
      if (count == 0 || stale_[count - 1] != index / 2) stale_[count++] = index / 2;
    }
    stale_.resize(count);
    above = stale_.front() >= 1;
  }
  stale_.clear();
}

int SumTree::parts_without(std::size_t slot, std::size_t other, const float** parts) {
  settle();
  std::size_t a = leaves_.size() + slot;
  std::size_t b = leaves_.size() + other;
  int count = 0;
  for (; a != b; a /= 2, b /= 2) {
    if ((a ^ 1) == b) continue;  // siblings: their parent is next, and nothing of it is left
    parts[count++] = node(a ^ 1);
    parts[count++] = node(b ^ 1);
  }
  for (; a > 1; a /= 2) parts[count++] = node(a ^ 1);
  return count;
}

}  // namespace neuroshard::search
