// CUDA's runtime on the CPU: devices, and what works on streams. NEUROSHARD_EMULATED_GPUS says how
// many GPUs there are; without it none, and programs are as on a machine that has none.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "tests/emulated_cuda/memory.h"
#include "tests/emulated_cuda/streams.h"

namespace neuroshard::emulation {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;

using Lock = std::unique_lock<std::recursive_mutex>;

int devices() {
  const char* text = std::getenv("NEUROSHARD_EMULATED_GPUS");
  return text != nullptr ? std::atoi(text) : 0;
}

cudaError_t returned(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

/// What a thread must not do while it captures: such a capture is of no use any more.
bool refused_by_capture() {
  bool refused = false;
  for (Stream* stream : all_streams()) refused = stream->invalidate_capture() || refused;
  return refused;
}

void drain_all(Lock& lock) {
  for (std::size_t i = all_streams().size(); i-- > 0;) all_streams()[i]->drain(lock);
}

}  // namespace

cudaError_t launch(const cudaLaunchConfig_t& config, std::function<void()> kernel) {
  const Lock lock(device_mutex());
  const dim3& blocks = config.gridDim;
  const dim3& threads = config.blockDim;
  constexpr unsigned kMostBlocks = 65535;
  const bool possible = blocks.x >= 1 && blocks.x <= 0x7fffffffU && blocks.y >= 1 &&
                        blocks.y <= kMostBlocks && blocks.z >= 1 && blocks.z <= kMostBlocks &&
                        threads.z >= 1 && threads.z <= 64 && threads.x >= 1 && threads.y >= 1 &&
                        threads.x * threads.y * threads.z <= 1024;
  if (!possible) return returned(cudaErrorInvalidConfiguration);
  stream_of(config.stream).add([blocks, threads, kernel = std::move(kernel)] {
    run_blocks(blocks, threads, kernel);
    return true;
  });
  return cudaSuccess;
}

std::uint64_t nanoseconds() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace neuroshard::emulation

using namespace neuroshard::emulation;  // NOLINT: what follows is CUDA's own interface

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorNoKernelImageForDevice:
      return "no kernel image is available for execution on the device";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureUnjoined:
      return "capturing stream has unjoined work";
    case cudaErrorStreamCaptureIsolation:
      return "dependency created on uncaptured work in another stream";
  }
  return "unknown error";
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = devices();
  return returned(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= devices()) return returned(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= devices()) return returned(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "emulated GPU (no hardware)");
  properties->totalGlobalMem = kDeviceBytes;
  properties->multiProcessorCount = 3;
  properties->major = 9;
  properties->l2CacheSize = 4 << 20;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int size, int device) {
  std::snprintf(id, static_cast<std::size_t>(size), "0000:%02x:00.0",
                static_cast<unsigned>(device));
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  Lock lock(device_mutex());
  if (refused_by_capture()) return returned(cudaErrorStreamCaptureUnsupported);
  drain_all(lock);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  const Lock lock(device_mutex());
  if (refused_by_capture()) return returned(cudaErrorStreamCaptureUnsupported);
  return returned(allocate_on_device(memory, bytes));
}

cudaError_t cudaFree(void* memory) {
  Lock lock(device_mutex());
  if (memory == nullptr) return cudaSuccess;
  if (refused_by_capture()) return returned(cudaErrorStreamCaptureUnsupported);
  drain_all(lock);
  return returned(free_on_device(memory));
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  const Lock lock(device_mutex());
  if (refused_by_capture()) return returned(cudaErrorStreamCaptureUnsupported);
  return returned(allocate_pinned(memory, bytes));
}

cudaError_t cudaHostGetDevicePointer(void** seen, void* memory, unsigned) {
  const Lock lock(device_mutex());
  if (!is_pinned(memory, 1)) return returned(cudaErrorInvalidValue);
  *seen = memory;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  Lock lock(device_mutex());
  drain_all(lock);
  return returned(free_pinned(memory));
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  Lock lock(device_mutex());
  if (refused_by_capture()) return returned(cudaErrorStreamCaptureUnsupported);
  const cudaError_t error =
      copy_in_stream(default_stream(), {to, bytes}, {from, bytes}, bytes, 1, kind);
  if (error == cudaSuccess) default_stream().drain(lock);
  return returned(error);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  Lock lock(device_mutex());
  Stream& in = stream_of(stream);
  const cudaError_t error =
      copy_in_stream(in, {to, to_pitch}, {from, from_pitch}, width, height, kind);
  // To memory that is not pinned: the call waits for the copy.
  if (error == cudaSuccess && kind == cudaMemcpyDeviceToHost && !in.capturing() &&
      !is_pinned(to, 1))
    in.drain(lock);
  return returned(error);
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  const Lock lock(device_mutex());
  return returned(fill_in_stream(stream_of(stream), memory, value, bytes));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const Lock lock(device_mutex());
  if (flags != cudaStreamNonBlocking) fail("a stream that the default stream waits for");
  *stream = new Stream();
  all_streams().push_back(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Lock lock(device_mutex());
  const auto found = std::find(all_streams().begin(), all_streams().end(), stream);
  if (stream == nullptr || found == all_streams().end())
    return returned(cudaErrorInvalidResourceHandle);
  if (stream->capturing()) return returned(cudaErrorStreamCaptureUnsupported);
  stream->drain(lock);  // later than now, on a GPU; nobody can tell
  all_streams().erase(std::find(all_streams().begin(), all_streams().end(), stream));
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Lock lock(device_mutex());
  if (stream_of(stream).invalidate_capture()) return returned(cudaErrorStreamCaptureUnsupported);
  stream_of(stream).drain(lock);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(device_mutex());
  return returned(stream_of(stream).wait(*event));
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new Event();
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Lock lock(device_mutex());
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Lock lock(device_mutex());
  return returned(stream_of(stream).record(*event));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Lock lock(device_mutex());
  if (refused_by_capture()) return returned(cudaErrorStreamCaptureUnsupported);
  if (event->mark == nullptr || event->mark->done) return cudaSuccess;
  event->stream->progress();  // by the next time it is asked
  return cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const Lock lock(device_mutex());
  if (from->mark == nullptr || to->mark == nullptr) return returned(cudaErrorInvalidResourceHandle);
  if (!from->mark->done || !to->mark->done) return cudaErrorNotReady;
  *milliseconds = static_cast<float>(
      static_cast<double>(to->mark->nanoseconds - from->mark->nanoseconds) * 1e-6);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Lock lock(device_mutex());
  return returned(stream != nullptr ? stream->begin_capture() : cudaErrorStreamCaptureUnsupported);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Lock lock(device_mutex());
  std::unique_ptr<Graph> made;
  const cudaError_t error = stream->end_capture(made);
  *graph = made.release();
  return returned(error);
}

// An executable graph is one of its own.
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  *made = new Graph(*graph);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return cudaGraphDestroy(graph); }

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  const Lock lock(device_mutex());
  stream_of(stream).launch(std::make_shared<Graph>(*graph));
  return cudaSuccess;
}
