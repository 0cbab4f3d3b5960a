#pragma once

#include <cstddef>
#include <vector>

#include "engine/core/aligned_vector.h"

namespace neuroshard::search {

/// The sum of a device's addends, kept as a binary tree of partial sums: replacing an addend is
/// log2(addends) vector additions, and so is the sum without one or two of them. Every node is the
/// sum of its two children and nothing is ever subtracted, so there is no drift: the same addends
/// in the same slots have the same bits, however they came there. Sums are brought up to date when
/// somebody asks, since a move replaces several addends before anyone does. Not thread-safe.
class SumTree {
 public:
  /// Most partial sums that parts_without() lists: one a level, of fewer than 2^31 addends.
  static constexpr int kMaxParts = 64;

  /// No addends. `zeros` are `width` zeros that outlive the tree.
  void reset(std::size_t width, const float* zeros);

  /// Puts `addend` (width floats that stay where they are) into slot `slot`; null empties it. Slots
  /// number from 0; the tree grows with the highest one.
  void set(std::size_t slot, const float* addend);

  /// The sum of all addends, width floats.
  [[nodiscard]] const float* sum() {
    settle();
    return node(1);
  }

  /// Writes the partial sums that together are all addends but those of `slot` and `other` (equal:
  /// one slot); returns how many. REQUIRES slots that have been set.
  int parts_without(std::size_t slot, std::size_t other, const float** parts);

 private:
  [[nodiscard]] const float* node(std::size_t index) const {
    return index < leaves_.size() ? inner_.data() + index * width_
                                  : leaves_[index - leaves_.size()];
  }
  void update(std::size_t index);
  void grow();
  void settle() {
    if (!stale_.empty()) settle_stale();
  }
  void settle_stale();

  std::size_t width_ = 0;
  const float* zeros_ = nullptr;
  AlignedVector<float> inner_;        // nodes 1 .. leaves - 1 of a heap; node 0 is not used
  std::vector<const float*> leaves_;  // a power of two
  std::vector<std::size_t> stale_;    // nodes above leaves that have changed; some may be twice
};

}  // namespace neuroshard::search
