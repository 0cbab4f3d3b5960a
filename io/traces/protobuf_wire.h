#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace neuroshard::io {

/// The bytes of one message of Protocol Buffers, field after field
/// (protobuf.dev/programming-guides/ encoding). A field is written with whatever value it is given,
/// so that one of a `oneof` is there also where it is zero. Not thread-safe.
class ProtobufMessage {
 public:
  /// uint32, uint64, bool, an enum, and int32 and int64 that are not below zero.
  ProtobufMessage& varint(std::uint32_t field, std::uint64_t value);
  /// A string, bytes, or a message.
  ProtobufMessage& bytes(std::uint32_t field, std::string_view value);
  /// Repeated uint64 in one record; nothing of an empty one.
  ProtobufMessage& packed(std::uint32_t field, std::span<const std::uint64_t> values);

  [[nodiscard]] const std::string& str() const { return bytes_; }
  /// With its length in front, as messages follow one another in a file.
  [[nodiscard]] std::string framed() const;

 private:
  std::string bytes_;
};

}  // namespace neuroshard::io
