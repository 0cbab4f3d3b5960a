#pragma once

#include <cuda_runtime.h>

#include "device_work.h"

namespace cub {

struct DeviceScan {
  template <typename Value, typename Count>
  static cudaError_t ExclusiveSum(void* work, std::size_t& bytes, const Value* values, Value* sums,
                                  Count count, cudaStream_t stream = nullptr) {
    return device_work(work, bytes, stream, [&]() -> std::function<void()> {
      return [=] {
        Value sum = 0;
        for (Count i = 0; i < count; ++i) {
          const Value value = values[i];
          sums[i] = sum;
          sum += value;
        }
      };
    });
  }
};

}  // namespace cub
