#include "io/traces/chakra.h"

#include <string_view>

#include "io/traces/protobuf_wire.h"
#include "io/traces/step_trace.h"

namespace neuroshard::io {
namespace {

/// Of the schema's messages, and of the kinds of values that an attribute may have.
constexpr std::uint32_t kMetadataVersion = 1;
constexpr std::uint32_t kMetadataAttribute = 2;
constexpr std::uint32_t kAttributeName = 1;
constexpr std::uint32_t kInt32 = 7;
constexpr std::uint32_t kInt64 = 9;
constexpr std::uint32_t kUint32 = 11;
constexpr std::uint32_t kUint64 = 13;
constexpr std::uint32_t kBool = 27;
constexpr std::uint32_t kString = 29;
enum NodeField : std::uint32_t {
  kId = 1,
  kName = 2,
  kType = 3,
  kControlDependencies = 4,
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

/// Of a node: those of all nodes of a step would be less.
constexpr std::size_t kMostDependencies = std::size_t{1} << 20;
constexpr std::uint64_t kLastType = 7;

struct ChakraAttribute {
  std::string_view name;
  std::string_view text;
  std::uint64_t number = 0;
  bool has_text = false;
  bool has_number = false;
};

Result<ChakraAttribute> read_attribute(ProtobufReader reader) {
  ChakraAttribute read;
  while (!reader.at_end()) {
    NEUROSHARD_ASSIGN_OR_RETURN(const ProtobufField field, reader.field());
    if (field.number == kAttributeName) {
      read.name = field.bytes;
    } else if (field.number == kString && field.has_length) {
      read.text = field.bytes;
      read.has_text = true;
    } else if (field.number == kInt32 || field.number == kInt64 || field.number == kUint32 ||
               field.number == kUint64 || field.number == kBool) {
      read.number = field.value;
      read.has_number = !field.has_length;
    }
  }
  return read;
}

void set_attribute(const ChakraAttribute& read, ChakraNode& node) {
  if (!read.has_number) return;
  const auto rank = static_cast<std::int32_t>(read.number);
  if (read.name == "num_ops") node.operations = read.number;
  if (read.name == "tensor_size" || read.name == "comm_size") node.bytes = read.number;
  if (read.name == "comm_type") node.collective = static_cast<ChakraNode::Collective>(rank);
  if (read.name == "comm_src") node.from = rank;
  if (read.name == "comm_dst") node.to = rank;
  if (read.name == "comm_tag") node.tag = rank;
}

/// `place`: of the end of the field, in the file.
Status add_dependencies(const ProtobufField& field, std::size_t place, ChakraNode& node) {
  if (!field.has_length) {
    node.after.push_back(field.value);
    return {};
  }
  ProtobufReader packed(field.bytes, place - field.bytes.size());
  while (!packed.at_end()) {
    if (node.after.size() == kMostDependencies) {
      return invalid_input("byte " + std::to_string(packed.place()) + ": found more than " +
                           std::to_string(kMostDependencies) + " dependencies of a node");
    }
    NEUROSHARD_ASSIGN_OR_RETURN(const std::uint64_t id, packed.varint());
    node.after.push_back(id);
  }
  return {};
}

Status set_field(const ProtobufField& field, std::size_t place, ChakraNode& node) {
  switch (field.number) {
    case kId:
      node.id = field.value;
      return {};
    case kName:
      node.name = field.bytes;
      return {};
    case kType:
      if (field.value > kLastType) {
        return invalid_input("byte " + std::to_string(place) + ": found a node of type " +
                             std::to_string(field.value) + ", expected 0 to 7");
      }
      node.type = static_cast<ChakraNode::Type>(field.value);
      return {};
    case kControlDependencies:
    case kDataDependencies:
      return add_dependencies(field, place, node);
    case kDuration:
      node.duration_us = field.value;
      return {};
    case kNodeAttribute: {
      NEUROSHARD_ASSIGN_OR_RETURN(
          const ChakraAttribute read,
          read_attribute(ProtobufReader(field.bytes, place - field.bytes.size())));
      set_attribute(read, node);
      return {};
    }
    default:
      return {};
  }
}

Result<ChakraNode> read_node(ProtobufReader reader) {
  ChakraNode node;
  while (!reader.at_end()) {
    NEUROSHARD_ASSIGN_OR_RETURN(const ProtobufField field, reader.field());
    NEUROSHARD_RETURN_IF_ERROR(set_field(field, reader.place(), node));
  }
  return node;
}

Result<ChakraMetadata> read_metadata(ProtobufReader reader) {
  ChakraMetadata metadata;
  while (!reader.at_end()) {
    NEUROSHARD_ASSIGN_OR_RETURN(const ProtobufField field, reader.field());
    if (field.number != kMetadataAttribute) continue;
    NEUROSHARD_ASSIGN_OR_RETURN(
        const ChakraAttribute read,
        read_attribute(ProtobufReader(field.bytes, reader.place() - field.bytes.size())));
    if (read.has_text) metadata.emplace_back(read.name, read.text);
  }
  return metadata;
}

Status check_metadata_start(std::string_view block) {
  // Names of all ranks' process groups may be there.
  constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
  ProtobufReader file(block);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::uint64_t size, file.varint());
  if (size == 0 || size > kMostBytes) {
    return invalid_input("byte 0: found a first message of " + std::to_string(size) +
                         " bytes, expected the metadata of a Chakra trace, 1 to " +
                         std::to_string(kMostBytes));
  }
  const std::size_t begin = file.place();
  const std::string_view metadata = block.substr(begin, size);
  if (metadata.size() < size) return {};
  return read_metadata(ProtobufReader(metadata, begin)).status();
}

Result<ChakraMetadata> read_messages(ProtobufReader& file, const ChakraSink& sink) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view first, file.framed());
  NEUROSHARD_ASSIGN_OR_RETURN(ChakraMetadata metadata,
                              read_metadata(ProtobufReader(first, file.place() - first.size())));
  while (!file.at_end()) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view message, file.framed());
    NEUROSHARD_ASSIGN_OR_RETURN(const ChakraNode node,
                                read_node(ProtobufReader(message, file.place() - message.size())));
    NEUROSHARD_RETURN_IF_ERROR(sink(node));
  }
  return metadata;
}

}  // namespace

Status check_chakra_start(std::string_view block, const std::string& source) {
  NEUROSHARD_RETURN_IF_ERROR(check_unpacked(block, source));
  return check_metadata_start(block).with_context(source);
}

Result<ChakraMetadata> read_chakra(std::string_view bytes, const std::string& source,
                                   const ChakraSink& sink) {
  NEUROSHARD_RETURN_IF_ERROR(check_unpacked(bytes, source));
  ProtobufReader file(bytes);
  Result<ChakraMetadata> metadata = read_messages(file, sink);
  if (!metadata.ok()) return metadata.status().with_context(source);
  return metadata;
}

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
