#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/core/status.h"

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

/// One field of a message that is read.
struct ProtobufField {
  std::uint32_t number = 0;
  std::uint64_t value = 0;   ///< of a varint, or the bits of a number of 4 or 8 bytes
  std::string_view bytes{};  ///< of one that has a length; into what is read
  bool has_length = false;
};

/// Reads messages of Protocol Buffers that anybody may have written, one value after the other.
/// Keeps nothing but its place, so memory does not grow with the input. Errors are kInvalidInput:
/// "byte 17: found .., expected ..", counted from `begin` on. The bytes must outlive it. Not
/// thread-safe.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view bytes, std::size_t begin = 0)
      : bytes_(bytes), begin_(begin) {}

  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  /// What `place()` bytes are before, for readers of what is inside.
  [[nodiscard]] std::size_t place() const { return begin_ + at_; }

  /// The next field; groups, which nothing writes any more, are refused.
  Result<ProtobufField> field();
  /// The next message of a file in which each has its length in front.
  Result<std::string_view> framed();
  /// One of packed numbers.
  Result<std::uint64_t> varint();

 private:
  [[nodiscard]] Status error(const std::string& message) const;
  Result<std::string_view> take(std::uint64_t size);
  Result<std::uint64_t> fixed(std::size_t size);

  std::string_view bytes_;
  std::size_t begin_;
  std::size_t at_ = 0;
};

}  // namespace neuroshard::io
