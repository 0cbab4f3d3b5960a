#include "engine/cost_model/cost_model_file.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto models = parse_cost_models(bytes, "input");
  if (fuzz::accepted(models) == nullptr) return 0;
  const std::string copy = format_cost_models(*models);
  const CostModels again = fuzz::reread(parse_cost_models(copy, "input"));
  fuzz::require(format_cost_models(again) == copy, "cost models survive writing");
  return 0;
}
