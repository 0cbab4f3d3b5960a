// The entry point of the tests that need a GPU: without one they are reported as skipped (exit code
// 77, CTest's SKIP_RETURN_CODE), never as passed. A GPU that does not answer is a failure.
#include <cstdio>

#include "cuda/device.h"
#include "tests/support/entry_point.h"

int main(int argc, char** argv) {
  const neuroshard::Status available = neuroshard::cuda::device_available();
  if (!available.ok()) {
    const bool none = available.code() == neuroshard::StatusCode::kUnavailable;
    std::printf("%s: %s\n", none ? "skipped" : "failed", available.message().c_str());
    return none ? 77 : 1;
  }
  return neuroshard::test::run_suites(argc, argv);
}
