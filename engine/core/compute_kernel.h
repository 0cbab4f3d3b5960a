#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/core/status.h"

namespace neuroshard {

/// Where a table's weights are while it is trained, named as TorchRec's planner names them
/// (EmbeddingComputeKernel).
enum class ComputeKernel {
  kFused,            ///< in the memory of the devices
  kFusedUvmCaching,  ///< in that of the hosts, a cache of rows in that of the devices
  kFusedUvm,         ///< in that of the hosts, read from there (unified virtual memory)
};

/// All of them, in the order of messages and files.
std::span<const ComputeKernel> all_compute_kernels();

/// The words of the file formats: "fused", "fused_uvm_caching", "fused_uvm".
std::string_view to_string(ComputeKernel kernel);
Result<ComputeKernel> parse_compute_kernel(std::string_view text);
/// "'fused', 'fused_uvm_caching' or 'fused_uvm'", as messages say it.
std::string compute_kernels();

/// How all shards of a table have its rows: which kernel reads them, and which of them every device
/// has beside the shards. Not of its replicas: those are on the devices, with all rows.
struct TableKernel {
  ComputeKernel kernel = ComputeKernel::kFused;
  double load_factor = 0;     ///< kFusedUvmCaching alone: the share of rows that the cache holds
  std::int64_t hot_rows = 0;  ///< so many of the hottest are on every device: see hot_rows.h

  [[nodiscard]] bool offloaded() const { return kernel != ComputeKernel::kFused; }
  friend auto operator<=>(const TableKernel&, const TableKernel&) = default;
};

/// "fused_uvm", "fused_uvm_caching with 20 % of the rows", or "fused and 1000 hot rows".
std::string describe(const TableKernel& kernel);

/// 0 < load_factor <= 1 with a cache, and 0 without one. Says nothing of hot rows.
Status validate(const TableKernel& kernel);

/// Which of them a plan may give a table that is not on every device.
struct AllowedKernels {
  bool fused = true;
  bool fused_uvm_caching = true;
  bool fused_uvm = true;
  double load_factor = 0;  ///< the one that caches have; 0: whichever does best

  void set(ComputeKernel kernel, bool allowed);
  [[nodiscard]] bool allows(ComputeKernel kernel) const;
  [[nodiscard]] bool allows(const TableKernel& kernel) const {
    return allows(kernel.kernel) && (kernel.kernel != ComputeKernel::kFusedUvmCaching ||
                                     load_factor == 0 || load_factor == kernel.load_factor);
  }
  [[nodiscard]] bool all() const { return fused && fused_uvm_caching && fused_uvm; }

  friend bool operator==(const AllowedKernels&, const AllowedKernels&) = default;
};

/// "fused, fused_uvm": the kernels that are allowed.
std::string describe(const AllowedKernels& allowed);

/// At least one kernel; a load factor of 0 to 1.
Status validate(const AllowedKernels& allowed);

}  // namespace neuroshard
