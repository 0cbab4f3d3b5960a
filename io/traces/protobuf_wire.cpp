#include "io/traces/protobuf_wire.h"

namespace neuroshard::io {
namespace {

constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kEightBytes = 1;
constexpr std::uint32_t kLengthDelimited = 2;
constexpr std::uint32_t kFourBytes = 5;

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

Status ProtobufReader::error(const std::string& message) const {
  return invalid_input("byte " + std::to_string(place()) + ": " + message);
}

Result<std::uint64_t> ProtobufReader::varint() {
  std::uint64_t value = 0;
  std::size_t size = 0;
  for (int shift = 0; shift < 70; shift += 7, ++size) {
    if (at_ + size == bytes_.size()) return error("found the end, expected the rest of a number");
    const auto byte = static_cast<unsigned char>(bytes_[at_ + size]);
    if (shift == 63 && byte > 1) break;
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) {
      at_ += size + 1;
      return value;
    }
  }
  return error("found a number of more than 64 bits, expected a varint");
}

Result<std::string_view> ProtobufReader::take(std::uint64_t size) {
  const std::size_t left = bytes_.size() - at_;
  if (size > left) {
    return error("found " + std::to_string(left) + " bytes, expected " + std::to_string(size));
  }
  const std::string_view taken = bytes_.substr(at_, size);
  at_ += size;
  return taken;
}

Result<std::uint64_t> ProtobufReader::fixed(std::size_t size) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view taken, take(size));
  std::uint64_t value = 0;
  for (std::size_t k = size; k-- > 0;) value = value << 8 | static_cast<unsigned char>(taken[k]);
  return value;
}

Result<std::string_view> ProtobufReader::framed() {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::uint64_t size, varint());
  return take(size);
}

Result<ProtobufField> ProtobufReader::field() {
  const ProtobufReader before = *this;
  NEUROSHARD_ASSIGN_OR_RETURN(const std::uint64_t key, varint());
  ProtobufField field;
  field.number = static_cast<std::uint32_t>(key >> 3);
  if (key >> 3 == 0 || key >> 32 != 0) {
    return before.error("found field " + std::to_string(key >> 3) +
                        ", expected one of Protocol Buffers: is it such a file?");
  }
  switch (key & 7) {
    case kVarint: {
      NEUROSHARD_ASSIGN_OR_RETURN(field.value, varint());
      return field;
    }
    case kEightBytes: {
      NEUROSHARD_ASSIGN_OR_RETURN(field.value, fixed(8));
      return field;
    }
    case kFourBytes: {
      NEUROSHARD_ASSIGN_OR_RETURN(field.value, fixed(4));
      return field;
    }
    case kLengthDelimited: {
      NEUROSHARD_ASSIGN_OR_RETURN(field.bytes, framed());
      field.has_length = true;
      return field;
    }
    default:
      return before.error("found wire type " + std::to_string(key & 7) + ", expected 0, 1, 2 or 5");
  }
}

}  // namespace neuroshard::io
