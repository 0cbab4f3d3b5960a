#include "io/tables/tables.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = io::parse_tables(bytes, "input");
  if (fuzz::accepted(file) == nullptr || !file->has_dims) return 0;
  const auto workload = io::make_workload(*file, "input");
  if (fuzz::accepted(workload) == nullptr) return 0;
  const std::string text = io::format_tables(*workload);
  const auto again = fuzz::reread(io::parse_tables(text, "input"));
  fuzz::require(again.tables == workload->tables, "tables survive writing", text);
  fuzz::require(again.batch_size == workload->batch_size, "the batch size survives", text);
  return 0;
}
