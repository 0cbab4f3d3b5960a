#include "io/cost_data/collection.h"

#include <array>
#include <charconv>
#include <filesystem>

#include "engine/core/cluster.h"
#include "io/file.h"
#include "io/json/json.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

constexpr std::string_view kFormat = "neuroshard-collection";
constexpr std::int64_t kVersion = 1;
constexpr std::array kKinds{CollectionKind::kCompute, CollectionKind::kComm};
constexpr std::array kBackends{Backend::kCpu, Backend::kSim, Backend::kCuda};

std::string_view provenance_of(const Collection& collection) {
  return collection.simulated() ? "simulated" : "measured";
}

/// The one of `choices` whose word is the value of `key`.
template <typename T, std::size_t kCount>
Result<T> read_choice(JsonObject& object, std::string_view key,
                      const std::array<T, kCount>& choices) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue value, object.at(key));
  std::string words;
  for (const T choice : choices) {
    if (value.is_string() && *value.text() == to_string(choice)) return choice;
    words += (words.empty() ? "" : " or ") + excerpt(to_string(choice));
  }
  return value.unexpected(words);
}

Status read_provenance(JsonObject& object, const Collection& collection) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue value, object.at("provenance"));
  const std::string_view expected = provenance_of(collection);
  if (value.is_string() && *value.text() == expected) return {};
  return value.unexpected(excerpt(expected) + " for backend " +
                          std::string(to_string(collection.backend)));
}

Status read_flags(JsonObject& root, Collection& collection) {
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject flags, root.object("flags"));
  for (std::size_t index = 0; index < flags.size(); ++index) {
    const std::string key(flags.key(index));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view text, flags.member(index).text());
    collection.flags[key] = text;
  }
  return {};
}

}  // namespace

std::string file_in(const std::string& directory, const char* name) {
  return (std::filesystem::path(directory) / name).string();
}

std::string_view to_string(CollectionKind kind) {
  return kind == CollectionKind::kCompute ? "compute" : "comm";
}

std::string_view to_string(Backend backend) {
  switch (backend) {
    case Backend::kUnknown:
      break;
    case Backend::kCpu:
      return "cpu";
    case Backend::kSim:
      return "sim";
    case Backend::kCuda:
      return "cuda";
  }
  return "unknown";
}

std::int32_t Collection::row_parts() const {
  const auto flag = flags.find(kRowPartsFlag);
  if (flag == flags.end()) return 1;
  const std::string& text = flag->second;
  std::int32_t parts = 1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parts);
  const bool read = error == std::errc() && end == text.data() + text.size();
  return read && parts >= 1 && parts <= kMaxDevices ? parts : 1;
}

Result<Collection> parse_collection(std::string_view bytes, const std::string& source) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(bytes, source));
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject root, document.root().object());
  NEUROSHARD_RETURN_IF_ERROR(root.format(kFormat, kVersion));
  Collection collection;
  NEUROSHARD_ASSIGN_OR_RETURN(collection.kind, read_choice(root, "kind", kKinds));
  NEUROSHARD_ASSIGN_OR_RETURN(collection.backend, read_choice(root, "backend", kBackends));
  NEUROSHARD_RETURN_IF_ERROR(read_provenance(root, collection));
  NEUROSHARD_ASSIGN_OR_RETURN(collection.hardware, root.shown_text("hardware"));
  if (collection.simulated()) {
    NEUROSHARD_ASSIGN_OR_RETURN(collection.profile, root.text("profile"));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(collection.batch_size, root.integer("batch_size", 1));
  NEUROSHARD_ASSIGN_OR_RETURN(collection.seed, root.unsigned_integer("seed"));
  if (collection.kind == CollectionKind::kComm) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t devices,
                                root.integer("devices", 1, kMaxDevices));
    collection.devices = static_cast<std::int32_t>(devices);
  }
  NEUROSHARD_RETURN_IF_ERROR(read_flags(root, collection));
  NEUROSHARD_RETURN_IF_ERROR(root.finish());
  return collection;
}

std::string format_collection(const Collection& collection) {
  JsonWriter writer;
  writer.begin_object();
  writer.key("format").text(kFormat);
  writer.key("version").integer(kVersion);
  writer.key("kind").text(to_string(collection.kind));
  writer.key("backend").text(to_string(collection.backend));
  writer.key("provenance").text(provenance_of(collection));
  writer.key("hardware").text(collection.hardware);
  if (collection.simulated()) writer.key("profile").text(collection.profile);
  writer.key("batch_size").integer(collection.batch_size);
  writer.key("seed").unsigned_integer(collection.seed);
  if (collection.kind == CollectionKind::kComm) writer.key("devices").integer(collection.devices);
  writer.key("flags").begin_object();
  for (const auto& [key, value] : collection.flags) writer.key(key).text(value);
  writer.end_object().end_object();
  return writer.take();
}

Result<Collection> read_collection(const std::string& directory, CollectionKind kind) {
  const std::string path = file_in(directory, kCollectionFile);
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) {
    Collection collection;
    collection.kind = kind;
    collection.hardware = "unknown";
    collection.batch_size = kDefaultBatchSize;
    return collection;
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, read_text_file(path));
  NEUROSHARD_ASSIGN_OR_RETURN(Collection collection, parse_collection(bytes, path));
  if (collection.kind != kind) {
    return invalid_input(path + ": $.kind: found " + excerpt(to_string(collection.kind)) +
                         ", expected " + excerpt(to_string(kind)));
  }
  return collection;
}

Result<ComputeData> read_compute_directory(const std::string& directory) {
  ComputeData data;
  NEUROSHARD_ASSIGN_OR_RETURN(data.collection,
                              read_collection(directory, CollectionKind::kCompute));
  const std::string pool_path = file_in(directory, kPoolFile);
  NEUROSHARD_ASSIGN_OR_RETURN(data.pool, read_tables(pool_path));
  if (!data.pool.has_dims) {
    return invalid_input(pool_path + ": $[0]: found no key 'dim', expected one in every table");
  }
  const std::string data_path = file_in(directory, kDataFile);
  NEUROSHARD_ASSIGN_OR_RETURN(data.samples, read_compute_data(data_path));
  NEUROSHARD_RETURN_IF_ERROR(
      check_ids(data.samples, static_cast<std::int64_t>(data.pool.tables.size()), data_path));
  return data;
}

Result<CommData> read_comm_directory(const std::string& directory) {
  CommData data;
  NEUROSHARD_ASSIGN_OR_RETURN(data.collection, read_collection(directory, CollectionKind::kComm));
  const std::string path = file_in(directory, kDataFile);
  NEUROSHARD_ASSIGN_OR_RETURN(data.samples, read_comm_data(path));
  const auto devices = static_cast<std::int32_t>(data.samples.front().dims.size());
  if (data.collection.devices == 0) data.collection.devices = devices;
  if (data.collection.devices == devices) return data;
  return invalid_input(path + ":1: found " + std::to_string(devices) + " devices, expected " +
                       std::to_string(data.collection.devices) + " as collection.json says");
}

}  // namespace neuroshard::io
