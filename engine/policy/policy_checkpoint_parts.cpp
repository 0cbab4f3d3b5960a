#include "engine/policy/policy_checkpoint_parts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include "io/text.h"

namespace neuroshard {
namespace {

constexpr std::int64_t kMostSteps = 10'000'000;
constexpr std::size_t kNumbersALook = 4;
using Numbers = std::array<double, kNumbersALook>;

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

/// Values beside those of the policy: as many, or where there are `none` no values.
Status check_count(const std::string& name, const std::vector<float>& values,
                   const std::vector<float>& parameters, bool none = false) {
  const std::size_t expected = none ? 0 : parameters.size();
  if (values.size() == expected) return {};
  return invalid_input("tensor " + name + ": found " + std::to_string(values.size()) +
                       " values, expected " + std::to_string(expected));
}

/// The optimizer divides by their roots.
Status check_squares(const std::string& name, const std::vector<float>& values) {
  const auto below =
      std::find_if(values.begin(), values.end(), [](float value) { return value < 0; });
  if (below == values.end()) return {};
  return invalid_input("tensor " + name + ": value " + std::to_string(below - values.begin()) +
                       " is " + io::format_number(static_cast<double>(*below)) +
                       ", expected 0 or more");
}

}  // namespace

Status check_policy_settings(MetadataReader& metadata, const PolicySettings& settings) {
  for (const auto& [key, expected] : settings) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string found, metadata.take(key));
    if (found == expected) continue;
    return invalid_input(key + ": found " + io::excerpt(found) + ", expected " +
                         io::excerpt(expected) + ", as in this training");
  }
  return {};
}

void put_vector(const std::string& name, std::vector<float> values, io::TensorFile& file) {
  const std::int64_t size = std::ssize(values);
  file.tensors[name] = {{size}, std::move(values)};
}

Result<std::vector<float>> take_vector(const std::string& name, io::TensorFile& file) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) return invalid_input("tensor " + name + ": missing");
  io::Tensor tensor = std::move(found->second);
  file.tensors.erase(found);
  if (tensor.shape.size() == 1) return std::move(tensor.values);
  return invalid_input("tensor " + name + ": found " + std::to_string(tensor.shape.size()) +
                       " dimensions, expected 1");
}

Status check_no_tensor(const io::TensorFile& file) {
  if (file.tensors.empty()) return {};
  return invalid_input("tensor " + file.tensors.begin()->first + ": unknown");
}

void put_policy_state(const PolicyTrainingState& state, io::TensorFile& file) {
  file.metadata["steps"] = std::to_string(state.steps);
  file.metadata["share_sum"] = io::format_number(state.share_sum);
  file.metadata["entropy_sum"] = io::format_number(state.entropy_sum);
  file.metadata["learned"] = std::to_string(state.learned);
  file.metadata["curve"] = text_of_curve(state.curve);
  put_vector("parameters", state.parameters, file);
  put_vector("adam.mean", state.adam_mean, file);
  put_vector("adam.square", state.adam_square, file);
  put_vector("best", state.best, file);
}

Result<PolicyTrainingState> take_policy_state(MetadataReader& metadata, io::TensorFile& file) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  PolicyTrainingState state;
  NEUROSHARD_ASSIGN_OR_RETURN(state.steps, metadata.take_integer("steps", 0, kMostSteps));
  NEUROSHARD_ASSIGN_OR_RETURN(state.share_sum, metadata.take_number("share_sum", 0, kLargest));
  NEUROSHARD_ASSIGN_OR_RETURN(state.entropy_sum,
                              metadata.take_number("entropy_sum", -kLargest, kLargest));
  NEUROSHARD_ASSIGN_OR_RETURN(
      state.learned, metadata.take_integer("learned", 0, std::numeric_limits<std::int64_t>::max()));
  NEUROSHARD_ASSIGN_OR_RETURN(state.curve, take_curve(metadata));
  NEUROSHARD_ASSIGN_OR_RETURN(state.parameters, take_vector("parameters", file));
  if (state.parameters.empty()) {
    return invalid_input("tensor parameters: found no values, expected those of a policy");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(state.adam_mean, take_vector("adam.mean", file));
  NEUROSHARD_ASSIGN_OR_RETURN(state.adam_square, take_vector("adam.square", file));
  NEUROSHARD_ASSIGN_OR_RETURN(state.best, take_vector("best", file));
  NEUROSHARD_RETURN_IF_ERROR(check_count("adam.mean", state.adam_mean, state.parameters));
  NEUROSHARD_RETURN_IF_ERROR(check_count("adam.square", state.adam_square, state.parameters));
  NEUROSHARD_RETURN_IF_ERROR(
      check_count("best", state.best, state.parameters, state.curve.empty()));
  NEUROSHARD_RETURN_IF_ERROR(check_squares("adam.square", state.adam_square));
  return state;
}

}  // namespace neuroshard
