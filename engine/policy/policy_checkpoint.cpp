#include "engine/policy/policy_checkpoint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/cost_model/metadata_reader.h"
#include "io/safetensors.h"
#include "io/text.h"

namespace neuroshard {
namespace {

constexpr const char* kCheckpointFormat = "neuroshard-policy-checkpoint";
constexpr const char* kCheckpointVersion = "1";
constexpr std::int64_t kMostSteps = 10'000'000;
constexpr std::size_t kNumbersALook = 4;
using Numbers = std::array<double, kNumbersALook>;

std::string text_of_numbers(const std::vector<std::int32_t>& numbers) {
  std::string text;
  for (const std::int32_t one : numbers) text += (text.empty() ? "" : ",") + std::to_string(one);
  return text;
}

/// Looks, separated by semicolons, of four numbers each.
std::string text_of_curve(const std::vector<PolicyPoint>& curve) {
  std::string text;
  for (const PolicyPoint& point : curve) {
    text += (text.empty() ? "" : ";") + std::to_string(point.update);
    for (const double number : {point.drawn_share, point.entropy, point.validation_share}) {
      text += " " + io::format_number(number);
    }
  }
  return text;
}

bool parse_look(std::string_view text, Numbers& numbers) {
  const char* next = text.data();
  const char* const stop = next + text.size();
  for (std::size_t k = 0; k < kNumbersALook; ++k) {
    if (k > 0 && (next == stop || *next++ != ' ')) return false;
    const auto [end, error] = std::from_chars(next, stop, numbers[k]);
    if (error != std::errc() || !std::isfinite(numbers[k])) return false;
    next = end;
  }
  const double update = numbers[0];
  return next == stop && update == std::floor(update) && update >= 0 && update <= kMostSteps;
}

Result<std::vector<PolicyPoint>> take_curve(MetadataReader& metadata) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string text, metadata.take("curve"));
  std::vector<PolicyPoint> curve;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    Numbers numbers;
    if (!parse_look(std::string_view(text).substr(begin, end - begin), numbers)) {
      return invalid_input("metadata curve: found " + io::excerpt(text.substr(begin, end - begin)) +
                           ", expected an update and three numbers");
    }
    curve.push_back({static_cast<std::int32_t>(numbers[0]), numbers[1], numbers[2], numbers[3]});
    begin = end + 1;
  }
  return curve;
}

void put_checkpoint_tensor(const std::string& name, const std::vector<float>& values,
                           io::TensorFile& file) {
  file.tensors[name] = {{std::ssize(values)}, values};
}

Result<std::vector<float>> take_checkpoint_tensor(const std::string& name, io::TensorFile& file) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) return invalid_input("tensor " + name + ": missing");
  io::Tensor tensor = std::move(found->second);
  file.tensors.erase(found);
  if (tensor.shape.size() == 1) return std::move(tensor.values);
  return invalid_input("tensor " + name + ": found " + std::to_string(tensor.shape.size()) +
                       " dimensions, expected 1");
}

Status check_policy_settings(MetadataReader& metadata, const PolicySettings& settings) {
  for (const auto& [key, expected] : settings) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string found, metadata.take(key));
    if (found == expected) continue;
    return invalid_input(key + ": found " + io::excerpt(found) + ", expected " +
                         io::excerpt(expected) + ", as in this training");
  }
  return {};
}

Result<PolicyTrainingState> read_state(io::TensorFile file, const PolicySettings& settings) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  MetadataReader metadata(std::move(file.metadata));
  PolicyTrainingState state;
  NEUROSHARD_RETURN_IF_ERROR(metadata.take_word("format", kCheckpointFormat));
  NEUROSHARD_RETURN_IF_ERROR(metadata.take_word("version", kCheckpointVersion));
  NEUROSHARD_RETURN_IF_ERROR(check_policy_settings(metadata, settings));
  NEUROSHARD_ASSIGN_OR_RETURN(state.steps, metadata.take_integer("steps", 0, kMostSteps));
  NEUROSHARD_ASSIGN_OR_RETURN(state.share_sum, metadata.take_number("share_sum", 0, kLargest));
  NEUROSHARD_ASSIGN_OR_RETURN(state.entropy_sum,
                              metadata.take_number("entropy_sum", -kLargest, kLargest));
  NEUROSHARD_ASSIGN_OR_RETURN(
      state.learned, metadata.take_integer("learned", 0, std::numeric_limits<std::int64_t>::max()));
  NEUROSHARD_ASSIGN_OR_RETURN(state.curve, take_curve(metadata));
  NEUROSHARD_RETURN_IF_ERROR(metadata.finish());
  NEUROSHARD_ASSIGN_OR_RETURN(state.parameters, take_checkpoint_tensor("parameters", file));
  NEUROSHARD_ASSIGN_OR_RETURN(state.adam_mean, take_checkpoint_tensor("adam.mean", file));
  NEUROSHARD_ASSIGN_OR_RETURN(state.adam_square, take_checkpoint_tensor("adam.square", file));
  NEUROSHARD_ASSIGN_OR_RETURN(state.best, take_checkpoint_tensor("best", file));
  if (file.tensors.empty()) return state;
  return invalid_input("tensor " + file.tensors.begin()->first + ": unknown");
}

}  // namespace

PolicySettings policy_settings(const PolicyTrainOptions& options, const PolicyOrigin& origin,
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
          {"cost_model_sha256", origin.cost_model_sha256},
          {"pool_sha256", origin.pool_sha256},
          {"batch_size", std::to_string(batch_size)}};
}

std::string format_policy_checkpoint(const PolicySettings& settings,
                                     const PolicyTrainingState& state) {
  io::TensorFile file;
  file.metadata = settings;
  file.metadata["format"] = kCheckpointFormat;
  file.metadata["version"] = kCheckpointVersion;
  file.metadata["steps"] = std::to_string(state.steps);
  file.metadata["share_sum"] = io::format_number(state.share_sum);
  file.metadata["entropy_sum"] = io::format_number(state.entropy_sum);
  file.metadata["learned"] = std::to_string(state.learned);
  file.metadata["curve"] = text_of_curve(state.curve);
  put_checkpoint_tensor("parameters", state.parameters, file);
  put_checkpoint_tensor("adam.mean", state.adam_mean, file);
  put_checkpoint_tensor("adam.square", state.adam_square, file);
  put_checkpoint_tensor("best", state.best, file);
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
