#pragma once

#include "engine/core/dense_model.h"
#include "engine/core/hardware_profile.h"
#include "engine/core/status.h"

namespace neuroshard {

/// What decides how long kernels of dense layers take on one device.
struct KernelRates {
  double flops_per_ms = 0;       ///< of matrix products that fill the device
  double multiprocessors = 0;    ///< that work on tiles of a product
  double dram_bytes_per_ms = 0;  ///< of element-wise passes
  double l2_bytes_per_ms = 0;    ///< of passes over what the L2 holds
  double l2_bytes = 0;           ///< that stay there
  double launch_ms = 0;          ///< of a kernel
  double value_bytes = 0;        ///< of activations, gradients
};

/// Microseconds between kernels that a CUDA graph launches (NVIDIA, "Getting Started with CUDA
/// Graphs": 3.4 us a kernel that runs 2.9 us).
inline constexpr double kGraphLaunchUs = 0.5;

/// Those of the profile, whose kernels take launch_us each. Errors: kInvalidInput where it does not
/// say what the precision needs.
Result<KernelRates> kernel_rates(const HardwareProfile& profile, DensePrecision precision);

/// Milliseconds of one kernel that multiplies [rows, inner] by [inner, columns]: the slower of its
/// operations and its bytes. Tiles of 128 x 128 results go to multiprocessors in waves, of which
/// the last is not full; a product of few tiles is divided along `inner`, too, in parts of 512 at
/// least, whose sums are added up in the kernel. None is launched where there are no results, as of
/// weights of a layer without inputs.
double gemm_ms(const KernelRates& rates, double rows, double columns, double inner);

/// Milliseconds of one kernel that reads or writes so many values in all.
double pass_ms(const KernelRates& rates, double values);

}  // namespace neuroshard
