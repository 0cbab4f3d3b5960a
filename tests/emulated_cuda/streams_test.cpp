// Whether the emulated CUDA does things as late, and refuses them, as a real one may.
#include <cuda_runtime.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "tests/emulated_cuda/memory.h"

namespace neuroshard::emulation {

struct OneGpu {
  OneGpu() {
    setenv("NEUROSHARD_EMULATED_GPUS", "1", 1);
    setenv("NEUROSHARD_EMULATED_ORDER", "late", 1);
  }
  ~OneGpu() {
    unsetenv("NEUROSHARD_EMULATED_GPUS");
    unsetenv("NEUROSHARD_EMULATED_ORDER");
  }
};

namespace {

struct Streams {
  cudaStream_t first = nullptr;
  cudaStream_t second = nullptr;
  cudaEvent_t event = nullptr;
  Streams() {
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaEventCreate(&event);
  }
  ~Streams() {
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
    cudaEventDestroy(event);
  }
};

void append(cudaStream_t stream, std::vector<int>& log, int number) {
  const cudaLaunchConfig_t one{.gridDim = {}, .blockDim = {}, .stream = stream};
  BOOST_REQUIRE(launch(one, [&log, number] { log.push_back(number); }) == cudaSuccess);
}

using Log = std::vector<int>;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(streams, OneGpu)

BOOST_AUTO_TEST_CASE(nothing_is_done_before_it_is_waited_for) {
  Streams s;
  Log log;
  append(s.first, log, 1);
  append(s.second, log, 2);
  BOOST_TEST(log.empty());
  BOOST_TEST(cudaStreamSynchronize(s.second) == cudaSuccess);
  BOOST_TEST(log == Log{2}, boost::test_tools::per_element());
  BOOST_TEST(cudaDeviceSynchronize() == cudaSuccess);
  BOOST_TEST((log == Log{2, 1}));
}

BOOST_AUTO_TEST_CASE(by_turns_work_is_done_at_once_or_late) {
  unsetenv("NEUROSHARD_EMULATED_ORDER");
  Streams s;
  Log log;
  int at_once = 0;
  for (int i = 0; i < 100; ++i) {
    append(s.first, log, i);
    at_once += static_cast<int>(log.size()) == i + 1 ? 1 : 0;
  }
  BOOST_TEST(at_once > 20);
  BOOST_TEST(at_once < 80);
  cudaStreamSynchronize(s.first);
  BOOST_TEST(std::is_sorted(log.begin(), log.end()));
  BOOST_TEST(log.size() == 100U);
}

BOOST_AUTO_TEST_CASE(a_stream_waits_for_an_event_of_another) {
  Streams s;
  Log log;
  append(s.first, log, 1);
  BOOST_TEST(cudaEventRecord(s.event, s.first) == cudaSuccess);
  append(s.first, log, 2);
  BOOST_TEST(cudaStreamWaitEvent(s.second, s.event) == cudaSuccess);
  append(s.second, log, 3);
  BOOST_TEST(cudaEventQuery(s.event) == cudaErrorNotReady);
  BOOST_TEST(cudaStreamSynchronize(s.second) == cudaSuccess);
  BOOST_TEST(log.front() == 1);
  BOOST_TEST(log.back() == 3);
}

BOOST_AUTO_TEST_CASE(a_graph_keeps_no_more_order_than_it_was_captured_with) {
  Streams s;
  Log log;
  cudaGraph_t graph = nullptr;
  BOOST_TEST(cudaStreamBeginCapture(s.first, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  append(s.first, log, 1);
  cudaEventRecord(s.event, s.first);
  cudaStreamWaitEvent(s.second, s.event);
  append(s.second, log, 2);
  append(s.first, log, 3);  // nobody has said that 2 comes before it
  cudaEventRecord(s.event, s.second);
  cudaStreamWaitEvent(s.first, s.event);
  append(s.first, log, 4);
  BOOST_TEST(cudaStreamEndCapture(s.first, &graph) == cudaSuccess);
  cudaStreamSynchronize(s.first);
  BOOST_TEST(log.empty());
  cudaGraphExec_t made = nullptr;
  BOOST_TEST(cudaGraphInstantiate(&made, graph) == cudaSuccess);
  cudaGraphDestroy(graph);
  for (int time = 0; time < 2; ++time) {
    log.clear();
    BOOST_TEST(cudaGraphLaunch(made, s.first) == cudaSuccess);
    BOOST_TEST(cudaStreamSynchronize(s.first) == cudaSuccess);
    BOOST_TEST((log == Log{1, 3, 2, 4}));
  }
  cudaGraphExecDestroy(made);
}

BOOST_AUTO_TEST_CASE(a_capture_that_leaves_work_beside_it_is_refused) {
  Streams s;
  Log log;
  cudaGraph_t graph = nullptr;
  cudaStreamBeginCapture(s.first, cudaStreamCaptureModeThreadLocal);
  cudaEventRecord(s.event, s.first);
  cudaStreamWaitEvent(s.second, s.event);
  append(s.second, log, 1);
  BOOST_TEST(cudaStreamEndCapture(s.first, &graph) == cudaErrorStreamCaptureUnjoined);
  BOOST_TEST(graph == nullptr);
}

BOOST_AUTO_TEST_CASE(a_capture_in_which_memory_is_made_is_refused) {
  Streams s;
  cudaGraph_t graph = nullptr;
  void* memory = nullptr;
  cudaStreamBeginCapture(s.first, cudaStreamCaptureModeThreadLocal);
  BOOST_TEST(cudaMalloc(&memory, 16) == cudaErrorStreamCaptureUnsupported);
  BOOST_TEST(cudaStreamEndCapture(s.first, &graph) == cudaErrorStreamCaptureInvalidated);
  BOOST_TEST(cudaGetLastError() == cudaErrorStreamCaptureInvalidated);
  BOOST_TEST(cudaGetLastError() == cudaSuccess);
}

BOOST_AUTO_TEST_CASE(copies_know_which_side_memory_is_on_and_where_it_ends) {
  float host[4] = {1, 2, 3, 4};
  void* memory = nullptr;
  BOOST_REQUIRE(cudaMalloc(&memory, sizeof host) == cudaSuccess);
  auto* const device = static_cast<float*>(memory);
  BOOST_TEST(std::isnan(device[0]));  // not what it happens to be on a GPU
  BOOST_TEST(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice) == cudaSuccess);
  BOOST_TEST(cudaMemcpy(device, host, sizeof host, cudaMemcpyDeviceToDevice) ==
             cudaErrorInvalidValue);
  BOOST_TEST(cudaMemcpy(device + 1, host, sizeof host, cudaMemcpyHostToDevice) ==
             cudaErrorInvalidValue);
  float back[4] = {};
  BOOST_TEST(cudaMemcpy(back, device, sizeof back, cudaMemcpyDeviceToHost) == cudaSuccess);
  BOOST_TEST(back == host, boost::test_tools::per_element());
  BOOST_TEST(cudaFree(memory) == cudaSuccess);
  BOOST_TEST(cudaFree(memory) == cudaErrorInvalidValue);
  cudaGetLastError();
}

BOOST_AUTO_TEST_CASE(pinned_memory_is_read_late_and_other_memory_at_once) {
  Streams s;
  void* pinned = nullptr;
  void* device = nullptr;
  BOOST_REQUIRE(cudaHostAlloc(&pinned, sizeof(int), cudaHostAllocMapped) == cudaSuccess);
  BOOST_REQUIRE(cudaMalloc(&device, sizeof(int)) == cudaSuccess);
  int plain = 1;
  for (int* const from : {&plain, static_cast<int*>(pinned)}) {
    *from = 1;
    cudaMemcpyAsync(device, from, sizeof(int), cudaMemcpyHostToDevice, s.first);
    *from = 2;
    int got = 0;
    cudaMemcpyAsync(&got, device, sizeof got, cudaMemcpyDeviceToHost, s.first);
    BOOST_TEST(got == (from == &plain ? 1 : 2));
  }
  cudaFree(device);
  cudaFreeHost(pinned);
}

BOOST_AUTO_TEST_CASE(a_grid_that_no_gpu_has_is_refused) {
  for (const dim3 threads : {dim3(2048), dim3(0), dim3(1, 1, 128)}) {
    BOOST_TEST(launch({.gridDim = {}, .blockDim = threads}, [] {}) ==
               cudaErrorInvalidConfiguration);
  }
  BOOST_TEST(launch({.gridDim = {0}, .blockDim = {}}, [] {}) == cudaErrorInvalidConfiguration);
  BOOST_TEST(launch({.gridDim = {1, 70000}, .blockDim = {}}, [] {}) ==
             cudaErrorInvalidConfiguration);
  cudaGetLastError();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::emulation
