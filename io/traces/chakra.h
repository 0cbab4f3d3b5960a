#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace neuroshard::io {

/// A node of a Chakra execution trace: something that a rank does (github.com/mlcommons/chakra,
/// schema/protobuf/et_def.proto at 21585d8). Attributes are those that ASTRA-sim's feeder reads.
struct ChakraNode {
  enum class Type {
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

}  // namespace neuroshard::io
