#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/status.h"

namespace neuroshard::io {

/// A node of a Chakra execution trace: something that a rank does (github.com/mlcommons/chakra,
/// schema/protobuf/et_def.proto at 21585d8). Attributes are those that ASTRA-sim's feeder reads.
struct ChakraNode {
  enum class Type {
    kNone = 0,  ///< of others' traces
    kMetadata = 1,
    kLoad = 2,
    kStore = 3,
    kCompute = 4,
    kSend = 5,
    kReceive = 6,
    kCollective = 7,
  };
  /// Of a collective.
  enum class Collective { kAllReduce = 0, kAllToAll = 6 };

  std::uint64_t id = 0;  ///< of its rank
  std::string name;
  Type type = Type::kCompute;
  std::vector<std::uint64_t> after{};  ///< ids of nodes that it needs
  std::uint64_t duration_us = 0;       ///< of a node that computes; 0 where the network says it
  std::uint64_t operations = 0;        ///< of a node that computes: floating-point ones
  std::uint64_t bytes = 0;             ///< that it reads and writes, or sends or receives
  Collective collective{};
  std::int32_t from = 0;  ///< ranks of a send or a receive
  std::int32_t to = 0;
  std::int32_t tag = 0;  ///< which of the messages between the two

  friend bool operator==(const ChakraNode&, const ChakraNode&) = default;
};

/// What a trace says of itself, as names and texts.
using ChakraMetadata = std::vector<std::pair<std::string, std::string>>;

/// One rank's trace as the bytes of a .et file, from its beginning to its end.
class ChakraTrace {
 public:
  explicit ChakraTrace(const ChakraMetadata& metadata);

  void add(const ChakraNode& node);
  /// Bytes that have not been taken.
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  /// The next bytes of the file: those.
  [[nodiscard]] std::string take() { return std::exchange(bytes_, {}); }

 private:
  std::string bytes_;
};

/// kInvalidInput naming the source for the first block of a file that no trace begins with: one of
/// gzip, or without metadata that other programs could read.
Status check_chakra_start(std::string_view block, const std::string& source);

/// Takes nodes in the order of a file. An error of it ends the reading.
using ChakraSink = std::function<Status(const ChakraNode& node)>;

/// Reads a .et file that ChakraTrace or another program has written, and gives its nodes away one
/// by one, so that memory does not grow with them; what the fields above have no place for is
/// skipped. Returns what the file says of itself: attributes that are texts. Errors: kInvalidInput
/// "<source>: byte N: ..", of gzip that it has to be unpacked, and the sink's. Thread-safe.
Result<ChakraMetadata> read_chakra(std::string_view bytes, const std::string& source,
                                   const ChakraSink& sink);

}  // namespace neuroshard::io
