#include "io/cost_data/cost_data.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

namespace {

template <typename Sample, typename Parse>
void check(std::string_view bytes, Parse parse) {
  const Result<std::vector<Sample>> samples = parse(bytes, "input");
  if (fuzz::accepted(samples) == nullptr) return;
  std::string text;
  for (const Sample& sample : *samples) text += io::format_line(sample) + "\n";
  fuzz::require(fuzz::reread(parse(text, "input")) == *samples, "samples survive", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check<io::ComputeSample>(bytes, io::parse_compute_data);
  check<io::CommSample>(bytes, io::parse_comm_data);
  return 0;
}
