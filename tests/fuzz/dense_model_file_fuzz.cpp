#include "io/models/dense_model_file.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Result<DenseModel> read = io::parse_dense_model(bytes, "input");
  const DenseModel* model = fuzz::accepted(read);
  if (model == nullptr) return 0;
  const std::string text = io::format_dense_model(*model);
  fuzz::require(fuzz::reread(io::parse_dense_model(text, "input")) == *model,
                "a model survives being written", text);
  return 0;
}
