#include "io/cost_data/machine_file.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  fuzz::accepted(io::parse_machine_file(bytes, "input", "input"));
  return 0;
}
