#include "engine/policy/policy_file.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>
#include <utility>

#include "engine/core/cluster.h"
#include "engine/cost_model/cost_model_tensors.h"
#include "engine/cost_model/metadata_reader.h"
#include "engine/policy/policy_lstm_tensors.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "io/text.h"

namespace neuroshard {
namespace {

constexpr const char* kFormat = "neuroshard-policy";
constexpr const char* kVersion = "1";
constexpr std::int64_t kMostTables = std::numeric_limits<std::int32_t>::max();

std::string comma_list(const std::vector<std::int32_t>& numbers) {
  std::string text;
  for (const std::int32_t number : numbers) {
    text += (text.empty() ? "" : ",") + std::to_string(number);
  }
  return text;
}

/// "2,4,8"; validate() says whether the numbers make sense.
Result<std::vector<std::int32_t>> take_devices(MetadataReader& metadata) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string text, metadata.take("devices"));
  std::vector<std::int32_t> devices;
  const char* next = text.data();
  const char* const stop = next + text.size();
  while (true) {
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(next, stop, value);
    const bool number = error == std::errc() && (end == stop || *end == ',');
    if (!number || devices.size() == kMaxDevices) {
      return invalid_input("metadata devices: found " + io::excerpt(text) +
                           ", expected numbers separated by commas");
    }
    devices.push_back(value);
    if (end == stop) return devices;
    next = end + 1;
  }
}

Result<PolicyTasks> take_tasks(MetadataReader& metadata) {
  PolicyTasks tasks;
  NEUROSHARD_ASSIGN_OR_RETURN(tasks.devices, take_devices(metadata));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t most,
                              metadata.take_integer("max_tables", 1, kMostTables));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t least,
                              metadata.take_integer("min_tables", 1, most));
  tasks.min_tables = static_cast<std::int32_t>(least);
  tasks.max_tables = static_cast<std::int32_t>(most);
  NEUROSHARD_ASSIGN_OR_RETURN(
      tasks.memory_bytes,
      metadata.take_integer("device_memory_bytes", 1, std::numeric_limits<std::int64_t>::max()));
  return tasks;
}

Result<PolicyOrigin> take_policy_origin(MetadataReader& metadata) {
  PolicyOrigin origin;
  NEUROSHARD_ASSIGN_OR_RETURN(origin.cost_model, metadata.take("cost_model"));
  NEUROSHARD_ASSIGN_OR_RETURN(origin.cost_model_sha256, metadata.take("cost_model_sha256"));
  NEUROSHARD_ASSIGN_OR_RETURN(origin.pool_sha256, metadata.take("pool_sha256"));
  NEUROSHARD_ASSIGN_OR_RETURN(origin.hardware, metadata.take("hardware"));
  NEUROSHARD_ASSIGN_OR_RETURN(origin.provenance, metadata.take_provenance("provenance"));
  return origin;
}

Result<std::uint64_t> take_seed(MetadataReader& metadata) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string text, metadata.take("seed"));
  std::uint64_t seed = 0;
  const char* const stop = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), stop, seed);
  if (error == std::errc() && end == stop) return seed;
  return invalid_input("metadata seed: found " + io::excerpt(text) + ", expected 0 to 2^64 - 1");
}

Result<PolicyHistory> take_history(MetadataReader& metadata) {
  PolicyHistory history;
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string reward, metadata.take("reward"));
  Result<PolicyReward> known = parse_policy_reward(reward);
  if (!known.ok()) return known.status().with_context("metadata reward");
  history.reward = *known;
  NEUROSHARD_ASSIGN_OR_RETURN(history.seed, take_seed(metadata));
  NEUROSHARD_ASSIGN_OR_RETURN(history.training_tables,
                              metadata.take_integer("training_tables", 1, kMostTables));
  NEUROSHARD_ASSIGN_OR_RETURN(history.held_out_tables,
                              metadata.take_integer("held_out_tables", 1, kMostTables));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string stopped, metadata.take("stopped_early"));
  if (stopped != "true" && stopped != "false") {
    return invalid_input("metadata stopped_early: found " + io::excerpt(stopped) +
                         ", expected true or false");
  }
  history.stopped_early = stopped == "true";
  return history;
}

Result<PolicyModel> read_model(io::TensorFile file) {
  MetadataReader metadata(std::move(file.metadata));
  NEUROSHARD_ASSIGN_OR_RETURN(std::vector<float> lstm, take_policy_lstm(file));
  TensorReader tensors(std::move(file));
  PolicyModel model;
  model.lstm = std::move(lstm);
  NEUROSHARD_RETURN_IF_ERROR(metadata.take_word("format", kFormat));
  NEUROSHARD_RETURN_IF_ERROR(metadata.take_word("version", kVersion));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string kind, metadata.take("kind"));
  Result<PolicyKind> known = parse_policy_kind(kind);
  if (!known.ok()) return known.status().with_context("metadata kind");
  model.kind = *known;
  NEUROSHARD_ASSIGN_OR_RETURN(model.tasks, take_tasks(metadata));
  NEUROSHARD_ASSIGN_OR_RETURN(model.origin, take_policy_origin(metadata));
  NEUROSHARD_ASSIGN_OR_RETURN(model.history, take_history(metadata));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string features, metadata.take("features"));
  Result<FeatureSet> parsed = FeatureSet::parse(features);
  if (!parsed.ok()) return parsed.status().with_context("metadata features");
  model.features = std::move(parsed).value();
  NEUROSHARD_ASSIGN_OR_RETURN(model.scaling, tensors.take_scaling("policy."));
  NEUROSHARD_ASSIGN_OR_RETURN(model.table,
                              tensors.take_mlp("policy.table.", nn::Activation::kNone));
  NEUROSHARD_ASSIGN_OR_RETURN(model.head, tensors.take_mlp("policy.head.", nn::Activation::kNone));
  NEUROSHARD_RETURN_IF_ERROR(tensors.finish());
  NEUROSHARD_RETURN_IF_ERROR(metadata.finish());
  NEUROSHARD_RETURN_IF_ERROR(validate(model));
  return model;
}

}  // namespace

std::string format_policy(const PolicyModel& model) {
  io::TensorFile file;
  file.metadata = {{"format", kFormat},
                   {"version", kVersion},
                   {"kind", std::string(to_string(model.kind))},
                   {"devices", comma_list(model.tasks.devices)},
                   {"min_tables", std::to_string(model.tasks.min_tables)},
                   {"max_tables", std::to_string(model.tasks.max_tables)},
                   {"device_memory_bytes", std::to_string(model.tasks.memory_bytes)},
                   {"cost_model", model.origin.cost_model},
                   {"cost_model_sha256", model.origin.cost_model_sha256},
                   {"pool_sha256", model.origin.pool_sha256},
                   {"hardware", model.origin.hardware},
                   {"provenance", std::string(word_of(model.origin.provenance))},
                   {"reward", std::string(to_string(model.history.reward))},
                   {"seed", std::to_string(model.history.seed)},
                   {"training_tables", std::to_string(model.history.training_tables)},
                   {"held_out_tables", std::to_string(model.history.held_out_tables)},
                   {"stopped_early", model.history.stopped_early ? "true" : "false"},
                   {"features", model.features.to_string()}};
  put_scaling(model.scaling, "policy.", file);
  put_mlp(model.table, "policy.table.", file);
  put_mlp(model.head, "policy.head.", file);
  put_policy_lstm(model, file);
  return io::format_safetensors(file);
}

Result<PolicyModel> parse_policy(std::string_view bytes, const std::string& source) {
  NEUROSHARD_ASSIGN_OR_RETURN(io::TensorFile file, io::parse_safetensors(bytes, source));
  Result<PolicyModel> model = read_model(std::move(file));
  if (!model.ok()) return model.status().with_context(source);
  return model;
}

Result<PolicyModel> read_policy(const std::string& path) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, io::read_safetensors_file(path));
  return parse_policy(bytes, io::source_name(path));
}

}  // namespace neuroshard
