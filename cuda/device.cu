#include <cuda_fp16.h>
#include <dlfcn.h>

#include "cuda/check.h"
#include "cuda/device.h"
#include "cuda/launch.h"
#include "cuda/memory.h"

namespace neuroshard::cuda {
namespace {

constexpr int kThreads = 256;

/// A function of an NVML that is there, or null. The library is never closed.
template <typename Function>
Function nvml_symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

// The four NVML calls that are needed, by their documented signatures (NVML API reference); its
// header is not part of every toolkit.
struct Nvml {
  using Device = void*;
  int (*init)() = nullptr;
  int (*handle_by_bus_id)(const char*, Device*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  std::string missing;

  static Nvml open() {
    Nvml nvml;
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* why = dlerror();
      nvml.missing = why != nullptr ? why : "libnvidia-ml.so.1 was not found";
      return nvml;
    }
    nvml.init = nvml_symbol<int (*)()>(library, "nvmlInit_v2");
    nvml.handle_by_bus_id =
        nvml_symbol<int (*)(const char*, Device*)>(library, "nvmlDeviceGetHandleByPciBusId_v2");
    nvml.clock = nvml_symbol<int (*)(Device, int, unsigned*)>(library, "nvmlDeviceGetClockInfo");
    nvml.temperature =
        nvml_symbol<int (*)(Device, int, unsigned*)>(library, "nvmlDeviceGetTemperature");
    if (nvml.init == nullptr || nvml.handle_by_bus_id == nullptr || nvml.clock == nullptr ||
        nvml.temperature == nullptr) {
      nvml.missing = "libnvidia-ml.so.1 lacks a function of NVML 2";
    } else if (const int code = nvml.init(); code != 0) {
      nvml.missing = "NVML does not start (code " + std::to_string(code) + ")";
    }
    return nvml;
  }
};

/// As Arena of the CPU's ground truth: the same position, the same value.
template <typename Weight>
__global__ void small_values(Weight* memory, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    std::uint64_t hash = i * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
    hash *= 0xbf58476d1ce4e5b9ULL;
    memory[i] = Weight((static_cast<float>(hash >> 40) * 0x1p-24F - 0.5F) * 0.02F);
  }
}

}  // namespace

Status device_available() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaErrorInsufficientDriver) {
    return unavailable("backend cuda: no NVIDIA driver, or one older than CUDA " +
                       std::to_string(CUDART_VERSION / 1000) + "." +
                       std::to_string(CUDART_VERSION % 1000 / 10) +
                       " (libcuda.so.1); use another --backend");
  }
  if (error == cudaErrorNoDevice || (error == cudaSuccess && devices == 0)) {
    return unavailable("backend cuda: no NVIDIA GPU on this machine; use another --backend");
  }
  NEUROSHARD_CUDA_RETURN_IF_ERROR(error);
  return {};
}

Result<DeviceInfo> device_info() {
  NEUROSHARD_RETURN_IF_ERROR(device_available());
  int device = 0;
  int driver = 0;
  cudaDeviceProp properties{};
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaGetDevice(&device));
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaGetDeviceProperties(&properties, device));
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaDriverGetVersion(&driver));
  return DeviceInfo{properties.name,
                    properties.multiProcessorCount,
                    properties.major * 10 + properties.minor,
                    static_cast<std::int64_t>(properties.totalGlobalMem),
                    properties.l2CacheSize,
                    std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10)};
}

Result<DeviceClocks> device_clocks() {
  NEUROSHARD_RETURN_IF_ERROR(device_available());
  static const Nvml nvml = Nvml::open();
  if (!nvml.missing.empty()) return unavailable("clocks of the GPU: " + nvml.missing);
  int device = 0;
  char bus[32] = {};
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaGetDevice(&device));
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
  constexpr int kSmClock = 1;
  constexpr int kMemoryClock = 2;
  constexpr int kGpuSensor = 0;
  Nvml::Device handle = nullptr;
  unsigned sm = 0;
  unsigned memory = 0;
  unsigned temperature = 0;
  int code = nvml.handle_by_bus_id(bus, &handle);
  if (code == 0) code = nvml.clock(handle, kSmClock, &sm);
  if (code == 0) code = nvml.clock(handle, kMemoryClock, &memory);
  if (code == 0) code = nvml.temperature(handle, kGpuSensor, &temperature);
  if (code != 0) return unavailable("clocks of the GPU: NVML code " + std::to_string(code));
  return DeviceClocks{static_cast<int>(sm), static_cast<int>(memory),
                      static_cast<int>(temperature)};
}

Status synchronize() {
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaGetLastError());
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaDeviceSynchronize());
  return {};
}

Result<void*> allocate(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes == 0) return memory;
  const cudaError_t error = cudaMalloc(&memory, bytes);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it is no lasting error of the device
    return internal_error("backend cuda: out of GPU memory for " + std::to_string(bytes) +
                          " bytes");
  }
  NEUROSHARD_CUDA_RETURN_IF_ERROR(error);
  return memory;
}

void release(void* memory) noexcept { cudaFree(memory); }

Status upload(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
  return {};
}

Status download(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
  return {};
}

Status copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice));
  return {};
}

Status fill_zero(void* memory, std::size_t bytes) {
  if (bytes == 0) return {};
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(memory, 0, bytes));
  return {};
}

Status fill_small_values(void* memory, std::size_t count, DataType type) {
  if (count == 0) return {};
  constexpr int kBlocks = 4096;
  if (type == DataType::kFp32) {
    return launch({kBlocks, kThreads}, small_values<float>, static_cast<float*>(memory), count);
  }
  return launch({kBlocks, kThreads}, small_values<__half>, static_cast<__half*>(memory), count);
}

}  // namespace neuroshard::cuda
