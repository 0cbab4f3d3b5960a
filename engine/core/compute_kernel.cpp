#include "engine/core/compute_kernel.h"

#include <algorithm>
#include <array>

#include "engine/core/decimal.h"
#include "engine/core/quoted_choices.h"

namespace neuroshard {
namespace {

constexpr std::array kKernels{ComputeKernel::kFused, ComputeKernel::kFusedUvmCaching,
                              ComputeKernel::kFusedUvm};

/// The one flag of each kernel, of constant or other AllowedKernels.
template <typename Allowed>
auto& flag_of(Allowed& allowed, ComputeKernel kernel) {
  switch (kernel) {
    case ComputeKernel::kFusedUvmCaching:
      return allowed.fused_uvm_caching;
    case ComputeKernel::kFusedUvm:
      return allowed.fused_uvm;
    default:
      return allowed.fused;
  }
}

}  // namespace

std::span<const ComputeKernel> all_compute_kernels() { return kKernels; }

std::string_view to_string(ComputeKernel kernel) {
  switch (kernel) {
    case ComputeKernel::kFusedUvmCaching:
      return "fused_uvm_caching";
    case ComputeKernel::kFusedUvm:
      return "fused_uvm";
    default:
      return "fused";
  }
}

Result<ComputeKernel> parse_compute_kernel(std::string_view text) {
  for (const ComputeKernel kernel : kKernels) {
    if (text == to_string(kernel)) return kernel;
  }
  return invalid_input("compute kernel '" + std::string(text) + "', expected " + compute_kernels());
}

std::string compute_kernels() { return quoted_choices(all_compute_kernels()); }

std::string describe(const TableKernel& kernel) {
  std::string text(to_string(kernel.kernel));
  if (kernel.kernel == ComputeKernel::kFusedUvmCaching) {
    text += " with " + general_decimals(100 * kernel.load_factor, 4) + " % of the rows";
  }
  if (kernel.hot_rows == 0) return text;
  return text + " and " + std::to_string(kernel.hot_rows) + " hot rows";
}

Status validate(const TableKernel& kernel) {
  if (kernel.kernel == ComputeKernel::kFusedUvmCaching) {
    if (kernel.load_factor > 0 && kernel.load_factor <= 1) return {};
    return invalid_input("load factor " + general_decimals(kernel.load_factor, 9) +
                         " of fused_uvm_caching, expected above 0 and at most 1");
  }
  if (kernel.load_factor == 0) return {};
  return invalid_input("load factor " + general_decimals(kernel.load_factor, 9) + " of " +
                       std::string(to_string(kernel.kernel)) +
                       ", expected one with fused_uvm_caching alone");
}

void AllowedKernels::set(ComputeKernel kernel, bool allowed) { flag_of(*this, kernel) = allowed; }

bool AllowedKernels::allows(ComputeKernel kernel) const { return flag_of(*this, kernel); }

std::string describe(const AllowedKernels& allowed) {
  std::string text;
  for (const ComputeKernel kernel : kKernels) {
    if (!allowed.allows(kernel)) continue;
    text += (text.empty() ? "" : ", ") + std::string(to_string(kernel));
  }
  return text;
}

Status validate(const AllowedKernels& allowed) {
  const auto is_allowed = [&](ComputeKernel kernel) { return allowed.allows(kernel); };
  if (std::none_of(kKernels.begin(), kKernels.end(), is_allowed)) {
    return invalid_input("no compute kernel allowed, expected some of " + compute_kernels());
  }
  if (allowed.load_factor >= 0 && allowed.load_factor <= 1) return {};
  return invalid_input("cache_load_factor is " + general_decimals(allowed.load_factor, 9) +
                       ", expected above 0 and at most 1");
}

}  // namespace neuroshard
