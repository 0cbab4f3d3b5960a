#include "io/traces/protobuf_wire.h"

namespace neuroshard::io {
namespace {

constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kLengthDelimited = 2;

/// Seven bits a byte, the lowest first; the eighth says that there are more.
void append_varint(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

}  // namespace

ProtobufMessage& ProtobufMessage::varint(std::uint32_t field, std::uint64_t value) {
  append_varint(bytes_, field << 3 | kVarint);
  append_varint(bytes_, value);
  return *this;
}

ProtobufMessage& ProtobufMessage::bytes(std::uint32_t field, std::string_view value) {
  append_varint(bytes_, field << 3 | kLengthDelimited);
  append_varint(bytes_, value.size());
  bytes_ += value;
  return *this;
}

ProtobufMessage& ProtobufMessage::packed(std::uint32_t field,
                                         std::span<const std::uint64_t> values) {
  if (values.empty()) return *this;
  std::string all;
  for (const std::uint64_t value : values) append_varint(all, value);
  return bytes(field, all);
}

std::string ProtobufMessage::framed() const {
  std::string message;
  append_varint(message, bytes_.size());
  return message + bytes_;
}

}  // namespace neuroshard::io
