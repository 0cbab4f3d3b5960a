#pragma once

#include <cstdint>
#include <string>

#include "engine/core/status.h"

namespace neuroshard::cuda {

/// What is fixed about a GPU.
struct DeviceInfo {
  std::string name;  ///< "NVIDIA H200"
  int multiprocessors = 0;
  int compute_capability = 0;  ///< 90 for 9.0
  std::int64_t memory_bytes = 0;
  std::int64_t cache_bytes = 0;  ///< its L2
  std::string driver;            ///< CUDA version of the driver, "13.0"
};

/// What moves while it works, for the record beside measured numbers.
struct DeviceClocks {
  int sm_mhz = 0;
  int memory_mhz = 0;
  int temperature_c = 0;
};

/// OK when this build can measure on an NVIDIA GPU of this machine; otherwise kUnavailable with one
/// line that names what is missing. A build without CUDA links stub/. Thread-safe.
Status device_available();

/// The current device. Errors: as device_available. Thread-safe.
Result<DeviceInfo> device_info();

/// Clocks and temperature through NVML, which is opened on the first call. Errors: kUnavailable
/// without it, naming what could not be loaded; nothing else needs NVML. Thread-safe.
Result<DeviceClocks> device_clocks();

/// Waits for all work given to the device; the first error of it. Thread-safe.
Status synchronize();

}  // namespace neuroshard::cuda
