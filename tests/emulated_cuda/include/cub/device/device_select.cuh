#pragma once

#include <cuda_runtime.h>

#include "device_work.h"

namespace cub {

struct DeviceSelect {
  template <typename Input, typename Output, typename Count, typename Keep>
  static cudaError_t If(void* work, std::size_t& bytes, Input input, Output* output,
                        Count* selected, int count, Keep keep, cudaStream_t stream = nullptr) {
    return device_work(work, bytes, stream, [&]() -> std::function<void()> {
      return [=] {
        Count found = 0;
        for (int i = 0; i < count; ++i) {
          if (keep(input[i])) output[found++] = input[i];
        }
        *selected = found;
      };
    });
  }
};

}  // namespace cub
