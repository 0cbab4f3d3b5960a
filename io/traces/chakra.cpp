#include "io/traces/chakra.h"

#include <string_view>

#include "io/traces/protobuf_wire.h"

namespace neuroshard::io {
namespace {

/// Of the schema's messages, and of the kinds of values that an attribute may have.
constexpr std::uint32_t kMetadataVersion = 1;
constexpr std::uint32_t kMetadataAttribute = 2;
constexpr std::uint32_t kAttributeName = 1;
constexpr std::uint32_t kInt32 = 7;
constexpr std::uint32_t kInt64 = 9;
constexpr std::uint32_t kUint64 = 13;
constexpr std::uint32_t kBool = 27;
constexpr std::uint32_t kString = 29;
enum NodeField : std::uint32_t {
  kId = 1,
  kName = 2,
  kType = 3,
  kDataDependencies = 5,  // the older of two feeders looks at no others
  kDuration = 7,
  kNodeAttribute = 10,
};

/// The schema that the fields are of.
constexpr std::string_view kSchema = "1.0.0";

std::string text_attribute(std::string_view name, std::string_view value) {
  return ProtobufMessage().bytes(kAttributeName, name).bytes(kString, value).str();
}

std::string number_attribute(std::string_view name, std::uint32_t kind, std::uint64_t value) {
  return ProtobufMessage().bytes(kAttributeName, name).varint(kind, value).str();
}

}  // namespace

ChakraTrace::ChakraTrace(const ChakraMetadata& metadata) {
  ProtobufMessage message;
  message.bytes(kMetadataVersion, kSchema);
  for (const auto& [name, value] : metadata) {
    message.bytes(kMetadataAttribute, text_attribute(name, value));
  }
  bytes_ = message.framed();
}

void ChakraTrace::add(const ChakraNode& node) {
  ProtobufMessage message;
  message.varint(kId, node.id).bytes(kName, node.name);
  message.varint(kType, static_cast<std::uint64_t>(node.type));
  message.packed(kDataDependencies, node.after).varint(kDuration, node.duration_us);
  const auto number = [&](std::string_view name, std::uint32_t kind, std::uint64_t value) {
    message.bytes(kNodeAttribute, number_attribute(name, kind, value));
  };
  number("is_cpu_op", kBool, 0);
  switch (node.type) {
    case ChakraNode::Type::kCompute:
      number("num_ops", kInt64, node.operations);
      number("tensor_size", kUint64, node.bytes);
      break;
    case ChakraNode::Type::kCollective:
      number("comm_type", kInt64, static_cast<std::uint64_t>(node.collective));
      number("comm_size", kInt64, node.bytes);
      message.bytes(kNodeAttribute, text_attribute("pg_name", ""));  // all ranks
      break;
    default:
      number("comm_src", kInt32, static_cast<std::uint64_t>(node.from));
      number("comm_dst", kInt32, static_cast<std::uint64_t>(node.to));
      number("comm_tag", kInt32, static_cast<std::uint64_t>(node.tag));
      number("comm_size", kInt64, node.bytes);
  }
  bytes_ += message.framed();
}

}  // namespace neuroshard::io
