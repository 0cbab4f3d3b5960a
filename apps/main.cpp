#include <exception>
#include <new>
#include <string>
#include <vector>

#include "apps/command.h"
#include "apps/console/output.h"
#include "apps/interrupt.h"

int main(int argc, char** argv) {
  neuroshard::apps::reserve_standard_streams();
  neuroshard::apps::ignore_write_signals();
  try {
    return neuroshard::apps::run_program(std::vector<std::string>(argv + (argc > 0), argv + argc));
  } catch (const std::bad_alloc&) {
    neuroshard::apps::print_error("neuroshard", "out of memory");
  } catch (const std::exception& error) {  // a bug
    neuroshard::apps::print_error("neuroshard", error.what());
  }
  return 1;
}
