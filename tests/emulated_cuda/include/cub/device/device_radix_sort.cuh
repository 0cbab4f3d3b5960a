#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "device_work.h"

namespace cub {

/// Two arrays, one of which holds what counts.
template <typename Value>
class DoubleBuffer {
 public:
  DoubleBuffer(Value* current, Value* alternate) : buffers_{current, alternate} {}
  Value* Current() { return buffers_[selector_]; }
  Value* Alternate() { return buffers_[1 - selector_]; }
  void flip() { selector_ = 1 - selector_; }

 private:
  Value* buffers_[2];
  int selector_ = 0;
};

struct DeviceRadixSort {
  /// Stable, by bits [begin_bit, end_bit) alone. The result is always in the other buffer and the
  /// first one is spoilt: who does not ask Current() again finds that.
  template <typename Key, typename Value>
  static cudaError_t SortPairs(void* work, std::size_t& bytes, DoubleBuffer<Key>& keys,
                               DoubleBuffer<Value>& values, int count, int begin_bit, int end_bit,
                               cudaStream_t stream = nullptr) {
    return device_work(work, bytes, stream, [&]() -> std::function<void()> {
      Key* const from = keys.Current();
      Key* const to = keys.Alternate();
      Value* const values_from = values.Current();
      Value* const values_to = values.Alternate();
      keys.flip();
      values.flip();
      return [=] {
        const auto digits = [&](Key key) {
          const int bits = end_bit - begin_bit;
          const auto shifted = static_cast<std::uint64_t>(key) >> begin_bit;
          return bits >= 64 ? shifted : shifted & ((std::uint64_t{1} << bits) - 1);
        };
        std::vector<int> order(static_cast<std::size_t>(count));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](int a, int b) { return digits(from[a]) < digits(from[b]); });
        for (int i = 0; i < count; ++i) {
          to[i] = from[order[static_cast<std::size_t>(i)]];
          values_to[i] = values_from[order[static_cast<std::size_t>(i)]];
        }
        std::fill(from, from + count, Key(~Key{}));
      };
    });
  }
};

}  // namespace cub
