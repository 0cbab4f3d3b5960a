// The entry point of the tests that need a GPU: without one they are reported as skipped (exit code
// 77, CTest's SKIP_RETURN_CODE), never as passed. Boost.Test is compiled in, so that the program
// runs on a GPU machine that has no Boost.
#define BOOST_TEST_NO_MAIN
#include <boost/test/included/unit_test.hpp>
#include <cstdio>

#include "cuda/device.h"

int main(int argc, char** argv) {
  const neuroshard::Status available = neuroshard::cuda::device_available();
  if (!available.ok()) {
    std::printf("skipped: %s\n", available.message().c_str());
    return 77;
  }
  const auto nothing_more = [](int, char**) -> boost::unit_test::test_suite* { return nullptr; };
  return boost::unit_test::unit_test_main(nothing_more, argc, argv);
}
