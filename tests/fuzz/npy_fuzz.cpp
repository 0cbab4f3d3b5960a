#include "io/npy.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto header = io::parse_npy_header(bytes, "input");
  if (fuzz::accepted(header) == nullptr) return 0;
  fuzz::require(header->item_bytes == 4 || header->item_bytes == 8, "integers only");
  fuzz::require(header->items() >= 0 && header->items() <= std::int64_t{1} << 48, "bounded");
  fuzz::require(header->data_offset <= static_cast<std::int64_t>(size), "the header is inside");
  return 0;
}
