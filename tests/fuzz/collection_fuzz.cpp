#include "io/cost_data/collection.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto collection = io::parse_collection(bytes, "input");
  if (fuzz::accepted(collection) == nullptr) return 0;
  const std::string text = io::format_collection(*collection);
  fuzz::require(fuzz::reread(io::parse_collection(text, "input")) == *collection,
                "a collection survives writing", text);
  return 0;
}
