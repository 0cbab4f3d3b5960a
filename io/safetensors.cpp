#include "io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "io/json/json.h"
#include "io/text.h"

static_assert(std::endian::native == std::endian::little, "tensors are stored little-endian");

namespace neuroshard::io {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::string_view kMetadataKey = "__metadata__";

/// REQUIRES at least kLengthBytes.
std::uint64_t header_length(std::string_view bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  return length;
}

/// Where a tensor's values lie in the data.
struct Extent {
  std::int64_t begin;
  std::int64_t end;
  JsonValue place;
};

Status read_metadata(const JsonValue& value, TensorFile& file) {
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, value.object());
  for (std::size_t index = 0; index < object.size(); ++index) {
    const std::string key(object.key(index));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view text, object.member(index).text());
    file.metadata[key] = text;
  }
  return {};
}

Result<std::vector<std::int64_t>> read_shape(JsonObject& object) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array, object.array("shape"));
  if (array.size() > kMaxTensorRank) {
    return array.value().unexpected("at most " + std::to_string(kMaxTensorRank) + " dimensions");
  }
  std::vector<std::int64_t> shape;
  for (const JsonValue value : array) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t size, value.integer(0));
    shape.push_back(size);
  }
  return shape;
}

Result<Extent> read_extent(JsonObject& object, std::int64_t data_bytes) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue value, object.at("data_offsets"));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray pair, value.array(2));
  auto element = pair.begin();
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t begin, (*element).integer(0, data_bytes));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t end, (*++element).integer(begin, data_bytes));
  return Extent{begin, end, value};
}

/// Bytes of a float32 tensor; an error when they do not fit 63 bits.
Result<std::int64_t> tensor_bytes(const std::vector<std::int64_t>& shape, const JsonValue& place) {
  std::int64_t bytes = sizeof(float);
  bool overflow = false;
  for (const std::int64_t size : shape) overflow |= __builtin_mul_overflow(bytes, size, &bytes);
  if (overflow) return place.error("found a shape of 2^63 bytes or more, expected less");
  return bytes;
}

Result<Extent> read_tensor(const JsonValue& value, std::string_view data, Tensor& tensor) {
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, value.object());
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue dtype, object.at("dtype"));
  if (!dtype.is_string() || *dtype.text() != "F32") return dtype.unexpected("'F32'");
  NEUROSHARD_ASSIGN_OR_RETURN(tensor.shape, read_shape(object));
  NEUROSHARD_ASSIGN_OR_RETURN(const Extent extent,
                              read_extent(object, static_cast<std::int64_t>(data.size())));
  NEUROSHARD_RETURN_IF_ERROR(object.finish());
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t bytes, tensor_bytes(tensor.shape, value));
  if (bytes != extent.end - extent.begin) {
    return extent.place.unexpected(std::to_string(bytes) + " bytes as the shape says, not " +
                                   std::to_string(extent.end - extent.begin));
  }
  const auto begin = static_cast<std::size_t>(extent.begin);
  tensor.values.resize(static_cast<std::size_t>(bytes) / sizeof(float));
  if (bytes > 0) {
    std::memcpy(tensor.values.data(), data.data() + begin, static_cast<std::size_t>(bytes));
  }
  const auto bad = std::find_if(tensor.values.begin(), tensor.values.end(),
                                [](float number) { return !std::isfinite(number); });
  if (bad == tensor.values.end()) return extent;
  return value.error("value " + std::to_string(bad - tensor.values.begin()) + " is " +
                     (std::isnan(*bad) ? "NaN" : "infinite") + ", expected finite numbers");
}

/// The tensors must follow each other from 0 to the end of the data.
Status check_tiling(std::vector<Extent> extents, std::int64_t data_bytes, const JsonValue& root) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::int64_t next = 0;
  for (const Extent& extent : extents) {
    if (extent.begin != next) {
      return extent.place.error("found data from byte " + std::to_string(extent.begin) +
                                ", expected from " + std::to_string(next) +
                                " (no holes, no overlaps)");
    }
    next = extent.end;
  }
  if (next == data_bytes) return {};
  return root.error("found " + std::to_string(data_bytes) + " bytes of data, expected " +
                    std::to_string(next));
}

Result<TensorFile> read_header(std::string_view header, std::string_view data,
                               const std::string& source) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonDocument document,
                              JsonDocument::parse(header, source + " (header)"));
  const JsonValue place = document.root();
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject root, place.object());
  TensorFile file;
  std::vector<Extent> extents;
  for (std::size_t index = 0; index < root.size(); ++index) {
    const std::string name(root.key(index));
    if (name == kMetadataKey) {
      NEUROSHARD_RETURN_IF_ERROR(read_metadata(root.member(index), file));
      continue;
    }
    NEUROSHARD_ASSIGN_OR_RETURN(const Extent extent,
                                read_tensor(root.member(index), data, file.tensors[name]));
    extents.push_back(extent);
  }
  NEUROSHARD_RETURN_IF_ERROR(
      check_tiling(std::move(extents), static_cast<std::int64_t>(data.size()), place));
  return file;
}

std::string format_header(const TensorFile& file) {
  constexpr auto kLine = JsonWriter::Layout::kLine;
  JsonWriter writer;
  writer.begin_object(kLine);
  if (!file.metadata.empty()) {
    writer.key(kMetadataKey).begin_object();
    for (const auto& [key, value] : file.metadata) writer.key(key).text(value);
    writer.end_object();
  }
  std::size_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    writer.key(name).begin_object().key("dtype").text("F32").key("shape").begin_array();
    for (const std::int64_t size : tensor.shape) writer.integer(size);
    writer.end_array().key("data_offsets").begin_array();
    writer.integer(static_cast<std::int64_t>(offset));
    offset += tensor.values.size() * sizeof(float);
    writer.integer(static_cast<std::int64_t>(offset)).end_array().end_object();
  }
  std::string header = writer.end_object().take();
  header.pop_back();  // the line break
  // So that the values behind it are aligned, for readers that map the file into memory.
  header.resize((header.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  return header;
}

}  // namespace

Status check_safetensors_start(std::string_view block, const std::string& source) {
  if (block.size() < kLengthBytes) return {};
  // Before anything is read of it: the first bytes of any other file are a huge length.
  const std::uint64_t length = header_length(block);
  if (length > static_cast<std::uint64_t>(kMaxTensorHeaderBytes)) {
    return invalid_input(source + ": found a header length of " + std::to_string(length) +
                         ", expected a safetensors file with at most " +
                         std::to_string(kMaxTensorHeaderBytes));
  }
  const std::string_view header = block.substr(kLengthBytes);
  if (length > 0 && (header.empty() || header.front() == '{')) return {};
  return invalid_input(source + ": found a header without '{' at its start, expected one");
}

Result<TensorFile> parse_safetensors(std::string_view bytes, const std::string& source) {
  if (bytes.size() < kLengthBytes) {
    return invalid_input(source + ": found " + std::to_string(bytes.size()) +
                         " bytes, expected a safetensors file (8 bytes of header length first)");
  }
  NEUROSHARD_RETURN_IF_ERROR(check_safetensors_start(bytes, source));
  const std::uint64_t length = header_length(bytes);
  bytes.remove_prefix(kLengthBytes);
  if (length > bytes.size()) {
    return invalid_input(source + ": found a header length of " + std::to_string(length) +
                         ", expected at most the " + std::to_string(bytes.size()) +
                         " bytes that follow");
  }
  const std::string_view header = bytes.substr(0, static_cast<std::size_t>(length));
  return read_header(header, bytes.substr(header.size()), source);
}

std::string format_safetensors(const TensorFile& file) {
  const std::string header = format_header(file);
  const std::uint64_t length = header.size();
  std::string bytes(kLengthBytes, '\0');
  std::memcpy(bytes.data(), &length, kLengthBytes);
  bytes += header;
  for (const auto& [name, tensor] : file.tensors) {
    const std::size_t size = tensor.values.size() * sizeof(float);
    if (size > 0) bytes.append(reinterpret_cast<const char*>(tensor.values.data()), size);
  }
  return bytes;
}

}  // namespace neuroshard::io
