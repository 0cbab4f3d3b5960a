#pragma once

namespace neuroshard::search {

/// What a table costs with one of its kernels, and what it needs. Bytes are whole numbers, exact up
/// to 2^53 in all; sums of more do not overflow.
struct KernelOption {
  double cost = 0;  ///< milliseconds, at least 0
  double device_bytes = 0;
  double host_bytes = 0;
};

/// What all tables together may have.
struct MemoryLimits {
  double device_bytes = 0;
  double host_bytes = 0;
};

}  // namespace neuroshard::search
