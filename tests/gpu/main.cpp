// The entry point of the tests that need a GPU: without one they are reported as skipped (exit code
// 77, CTest's SKIP_RETURN_CODE), never as passed.
#include <cstdio>

#include "cuda/device.h"
#include "tests/support/entry_point.h"

int main(int argc, char** argv) {
  const neuroshard::Status available = neuroshard::cuda::device_available();
  if (!available.ok()) {
    std::printf("skipped: %s\n", available.message().c_str());
    return 77;
  }
  return neuroshard::test::run_suites(argc, argv);
}
