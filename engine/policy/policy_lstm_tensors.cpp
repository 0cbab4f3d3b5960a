#include "engine/policy/policy_lstm_tensors.h"

#include <array>
#include <cstdint>
#include <string>

#include "engine/policy/policy_head.h"

namespace neuroshard {
namespace {

using Shape = std::vector<std::int64_t>;

/// "policy.lstm.weight" [4 H, H], "policy.lstm.bias" [4 H] and "policy.lstm.recurrent" [4 H, H], in
/// the order of nn::Lstm's parameters.
constexpr std::array<const char*, 3> kLstmTensors{"policy.lstm.weight", "policy.lstm.bias",
                                                  "policy.lstm.recurrent"};

std::array<Shape, 3> shapes_of_lstm(std::int64_t units) {
  return {Shape{4 * units, units}, Shape{4 * units}, Shape{4 * units, units}};
}

std::string text_of_shape(const Shape& shape) {
  std::string text;
  for (const std::int64_t size : shape) {
    text += (text.empty() ? "" : " x ") + std::to_string(size);
  }
  return text;
}

/// H, of tensors that are all there.
Result<std::int64_t> units_of_lstm(const io::TensorFile& file) {
  for (const char* const name : kLstmTensors) {
    if (file.tensors.contains(name)) continue;
    return invalid_input("tensor " + std::string(name) + ": missing");
  }
  const Shape& found = file.tensors.at(kLstmTensors[0]).shape;
  const std::int64_t units = found.size() == 2 ? found[1] : 0;
  if (units >= 1 && units <= kMostPolicyUnits) return units;
  return invalid_input("tensor " + std::string(kLstmTensors[0]) + ": found " +
                       text_of_shape(found) + ", expected 4 H x H, with H up to " +
                       std::to_string(kMostPolicyUnits));
}

}  // namespace

void put_policy_lstm(const PolicyModel& model, io::TensorFile& file) {
  if (!model.recurrent()) return;
  const std::array<Shape, 3> shapes = shapes_of_lstm(model.hidden());
  auto next = model.lstm.begin();
  for (std::size_t k = 0; k < kLstmTensors.size(); ++k) {
    std::int64_t size = 1;
    for (const std::int64_t one : shapes[k]) size *= one;
    file.tensors[kLstmTensors[k]] = {shapes[k], std::vector<float>(next, next + size)};
    next += size;
  }
}

Result<std::vector<float>> take_policy_lstm(io::TensorFile& file) {
  std::vector<float> parameters;
  bool any = false;
  for (const char* const name : kLstmTensors) any = any || file.tensors.contains(name);
  if (!any) return parameters;
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t units, units_of_lstm(file));
  const std::array<Shape, 3> shapes = shapes_of_lstm(units);
  for (std::size_t k = 0; k < kLstmTensors.size(); ++k) {
    const io::Tensor tensor = std::move(file.tensors.at(kLstmTensors[k]));
    if (tensor.shape != shapes[k]) {
      return invalid_input("tensor " + std::string(kLstmTensors[k]) + ": found " +
                           text_of_shape(tensor.shape) + ", expected " + text_of_shape(shapes[k]));
    }
    parameters.insert(parameters.end(), tensor.values.begin(), tensor.values.end());
    file.tensors.erase(kLstmTensors[k]);
  }
  return parameters;
}

}  // namespace neuroshard
