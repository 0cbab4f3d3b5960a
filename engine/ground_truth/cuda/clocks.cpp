#include "engine/ground_truth/cuda/clocks.h"

#include "cuda/device.h"

namespace neuroshard {

std::string describe_clocks() {
  const Result<cuda::DeviceClocks> clocks = cuda::device_clocks();
  if (!clocks.ok()) return clocks.status().message();
  return "SM " + std::to_string(clocks->sm_mhz) + " MHz, memory " +
         std::to_string(clocks->memory_mhz) + " MHz, " + std::to_string(clocks->temperature_c) +
         " C";
}

}  // namespace neuroshard
