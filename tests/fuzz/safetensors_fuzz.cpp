#include "io/safetensors.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = io::parse_safetensors(bytes, "input");
  if (fuzz::accepted(file) == nullptr) return 0;
  const std::string copy = io::format_safetensors(*file);
  fuzz::require(fuzz::reread(io::parse_safetensors(copy, "input")) == *file, "tensors survive");
  return 0;
}
