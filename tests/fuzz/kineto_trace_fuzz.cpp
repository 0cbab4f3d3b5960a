#include "io/traces/kineto_trace.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto rank = io::parse_kineto_trace(bytes, "input");
  if (fuzz::accepted(rank) == nullptr) return 0;
  const io::RankStep& step = rank->step;
  fuzz::require(rank->steps > 0 && *step.forward_ms >= 0 && *step.backward_ms >= 0,
                "a trace that is read has steps, whose times are not below zero");
  fuzz::require(!rank->batch_size || *rank->batch_size > 0, "a batch has samples");
  fuzz::require(step.dims.value_or(0) >= 0 && step.lookups.value_or(0) >= 0,
                "no number below zero");
  return 0;
}
