#include "engine/policy/policy_checkpoint.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/cost_model/metadata_reader.h"
#include "io/safetensors.h"
#include "io/text.h"

namespace neuroshard {
namespace {

constexpr const char* kCheckpointFormat = "neuroshard-policy-checkpoint";
constexpr const char* kCheckpointVersion = "1";

std::string text_of_numbers(const std::vector<std::int32_t>& numbers) {
  std::string text;
  for (const std::int32_t one : numbers) text += (text.empty() ? "" : ",") + std::to_string(one);
  return text;
}

Result<PolicyTrainingState> read_state(io::TensorFile file, const PolicySettings& settings) {
  MetadataReader metadata(std::move(file.metadata));
  NEUROSHARD_RETURN_IF_ERROR(metadata.take_word("format", kCheckpointFormat));
  NEUROSHARD_RETURN_IF_ERROR(metadata.take_word("version", kCheckpointVersion));
  NEUROSHARD_RETURN_IF_ERROR(check_policy_settings(metadata, settings));
  NEUROSHARD_ASSIGN_OR_RETURN(PolicyTrainingState state, take_policy_state(metadata, file));
  NEUROSHARD_RETURN_IF_ERROR(metadata.finish());
  NEUROSHARD_RETURN_IF_ERROR(check_no_tensor(file));
  return state;
}

}  // namespace

PolicySettings training_settings(const PolicyTrainOptions& options, const std::string& pool_sha256,
                                 std::int64_t batch_size) {
  return {{"kind", std::string(to_string(options.kind))},
          {"reward", std::string(to_string(options.reward))},
          {"devices", text_of_numbers(options.tasks.devices)},
          {"min_tables", std::to_string(options.tasks.min_tables)},
          {"max_tables", std::to_string(options.tasks.max_tables)},
          {"device_memory_bytes", std::to_string(options.tasks.memory_bytes)},
          {"imitations", std::to_string(options.imitations)},
          {"updates", std::to_string(options.updates)},
          {"tasks_an_update", std::to_string(options.batch)},
          {"episodes", std::to_string(options.episodes)},
          {"hidden", std::to_string(options.hidden)},
          {"learning_rate", io::format_number(options.learning_rate)},
          {"entropy", io::format_number(options.entropy)},
          {"seed", std::to_string(options.seed)},
          {"pool_sha256", pool_sha256},
          {"batch_size", std::to_string(batch_size)}};
}

PolicySettings policy_settings(const PolicyTrainOptions& options, const PolicyOrigin& origin,
                               std::int64_t batch_size) {
  PolicySettings settings = training_settings(options, origin.pool_sha256, batch_size);
  settings["cost_model_sha256"] = origin.cost_model_sha256;
  return settings;
}

std::string format_policy_checkpoint(const PolicySettings& settings,
                                     const PolicyTrainingState& state) {
  io::TensorFile file;
  file.metadata = settings;
  file.metadata["format"] = kCheckpointFormat;
  file.metadata["version"] = kCheckpointVersion;
  put_policy_state(state, file);
  return io::format_safetensors(file);
}

Result<PolicyTrainingState> parse_policy_checkpoint(std::string_view bytes,
                                                    const std::string& source,
                                                    const PolicySettings& settings) {
  NEUROSHARD_ASSIGN_OR_RETURN(io::TensorFile file, io::parse_safetensors(bytes, source));
  Result<PolicyTrainingState> state = read_state(std::move(file), settings);
  if (!state.ok()) return state.status().with_context(source);
  return state;
}

}  // namespace neuroshard
