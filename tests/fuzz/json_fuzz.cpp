#include "io/json/json.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;
using io::JsonValue;

namespace {

/// Writes what was read, through every accessor.
void copy(const JsonValue& value, io::JsonWriter& writer) {
  switch (value.kind()) {
    case JsonValue::Kind::kNull:
      writer.null();
      break;
    case JsonValue::Kind::kFalse:
    case JsonValue::Kind::kTrue:
      writer.boolean(*value.boolean());
      break;
    case JsonValue::Kind::kNumber:
      fuzz::accepted(value.integer());
      writer.number(*value.number());
      break;
    case JsonValue::Kind::kString:
      writer.text(*value.text());
      break;
    case JsonValue::Kind::kArray: {
      const io::JsonArray array(value);
      writer.begin_array();
      for (const JsonValue element : array) copy(element, writer);
      writer.end_array();
      break;
    }
    case JsonValue::Kind::kObject: {
      io::JsonObject object(value);
      writer.begin_object(io::JsonWriter::Layout::kLine);
      for (std::size_t index = 0; index < object.size(); ++index) {
        writer.key(object.key(index));
        copy(object.member(index), writer);
      }
      writer.end_object();
      break;
    }
  }
}

std::string copy_of(const io::JsonDocument& document) {
  io::JsonWriter writer;
  copy(document.root(), writer);
  return writer.take();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto document = io::JsonDocument::parse(bytes, "input");
  if (const io::JsonDocument* parsed = fuzz::accepted(document)) {
    const std::string text = copy_of(*parsed);
    const io::JsonDocument again = fuzz::reread(io::JsonDocument::parse(text, "input"));
    fuzz::require(copy_of(again) == text, "JSON survives writing", text);
    fuzz::require_clear(parsed->root().unexpected("something else"));
  }
  return 0;
}
