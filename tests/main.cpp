// The entry point of every test program but the GPU's.
#include "tests/support/entry_point.h"

int main(int argc, char** argv) { return neuroshard::test::run_suites(argc, argv); }
