// The entry point of every test program but the GPU's.
#include "tests/support/entry_point.h"
#include "tests/support/small_caches.h"

int main(int argc, char** argv) {
  neuroshard::test::pretend_small_caches();
  return neuroshard::test::run_suites(argc, argv);
}
