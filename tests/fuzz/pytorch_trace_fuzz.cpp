#include "io/traces/pytorch_trace.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto rank = io::parse_pytorch_trace(bytes, "input");
  if (fuzz::accepted(rank) == nullptr) return 0;
  // Whoever reads it divides by the batch, and adds up.
  fuzz::require(*rank->batch_size > 0 && *rank->step.dims >= 0 && *rank->step.lookups >= 0,
                "a trace that is read has a batch, and no number below zero");
  return 0;
}
