#include "engine/ground_truth/joint_checkpoint.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/table.h"
#include "engine/cost_model/metadata_reader.h"
#include "io/safetensors.h"
#include "io/text.h"

namespace neuroshard {
namespace {

constexpr const char* kJointFormat = "neuroshard-joint-checkpoint";
constexpr const char* kJointVersion = "1";

/// A double is the sum of so many floats, each the nearest to what those before leave: 72 bits.
constexpr std::size_t kFloatsANumber = 3;
constexpr double kLargestNumber = std::numeric_limits<float>::max();
/// Tensors of plans, of all their devices, and of what all these hold.
constexpr const char* kPlans = "plans";
constexpr const char* kDevices = "plans.devices";
constexpr const char* kColumns = "plans.columns";

/// Numbers of one tensor, one after the other.
class NumberWriter {
 public:
  void put_count(std::int64_t count) { values_.push_back(static_cast<float>(count)); }
  void put_number(double number) {
    for (std::size_t k = 0; k < kFloatsANumber; ++k) {
      values_.push_back(static_cast<float>(number));
      number -= static_cast<double>(values_.back());
    }
  }
  std::vector<float> take() { return std::move(values_); }

 private:
  std::vector<float> values_;
};

/// The same for reading, each number checked. Errors name the tensor.
class NumberReader {
 public:
  static Result<NumberReader> of(const std::string& name, io::TensorFile& file) {
    NEUROSHARD_ASSIGN_OR_RETURN(std::vector<float> values, take_vector(name, file));
    return NumberReader(name, std::move(values));
  }

  [[nodiscard]] bool done() const { return next_ == values_.size(); }

  Result<std::int32_t> take_count(std::int32_t low, std::int32_t high) {
    if (done()) return too_few();
    const float value = values_[next_++];
    const auto least = static_cast<float>(low);
    const auto most = static_cast<float>(high);
    if (value >= least && value <= most && value == std::floor(value)) {
      return static_cast<std::int32_t>(value);
    }
    return unexpected(static_cast<double>(value), io::integer_range(low, high));
  }

  Result<double> take_number(double low, double high) {
    if (values_.size() - next_ < kFloatsANumber) return too_few();
    double number = 0;
    for (std::size_t k = 0; k < kFloatsANumber; ++k) {
      number += static_cast<double>(values_[next_++]);
    }
    if (number >= low && number <= high) return number;
    return unexpected(number, io::number_range(low, high));
  }

  [[nodiscard]] Status finish() const {
    if (done()) return {};
    return invalid_input("tensor " + name_ + ": found " + std::to_string(values_.size()) +
                         " values, expected " + std::to_string(next_));
  }

 private:
  NumberReader(std::string name, std::vector<float> values)
      : name_(std::move(name)), values_(std::move(values)) {}

  [[nodiscard]] Status too_few() const {
    return invalid_input("tensor " + name_ + ": found " + std::to_string(values_.size()) +
                         " values, expected more");
  }
  [[nodiscard]] Status unexpected(double found, const std::string& expected) const {
    return invalid_input("tensor " + name_ + ": found " + io::format_number(found) + ", expected " +
                         expected);
  }

  std::string name_;
  std::vector<float> values_;
  std::size_t next_ = 0;
};

void put_plans(const std::vector<MeasuredPlan>& measured, io::TensorFile& file) {
  NumberWriter plans;
  NumberWriter devices;
  NumberWriter columns;
  for (const MeasuredPlan& plan : measured) {
    plans.put_count(std::ssize(plan.devices));
    plans.put_number(plan.predicted_ms);
    for (const MeasuredDevice& device : plan.devices) {
      devices.put_count(std::ssize(device.columns));
      for (const double ms : {device.compute_ms, device.forward_ms, device.backward_ms}) {
        devices.put_number(ms);
      }
      for (const MeasuredColumns& held : device.columns) {
        columns.put_count(held.table);
        columns.put_count(held.dim);
      }
    }
  }
  put_vector(kPlans, plans.take(), file);
  put_vector(kDevices, devices.take(), file);
  put_vector(kColumns, columns.take(), file);
}

Result<MeasuredDevice> take_device(NumberReader& devices, NumberReader& columns) {
  MeasuredDevice device;
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int32_t count,
                              devices.take_count(0, kMostCheckpointTables));
  for (double* const ms : {&device.compute_ms, &device.forward_ms, &device.backward_ms}) {
    NEUROSHARD_ASSIGN_OR_RETURN(*ms, devices.take_number(0, kLargestNumber));
  }
  for (std::int32_t k = 0; k < count; ++k) {
    MeasuredColumns held;
    NEUROSHARD_ASSIGN_OR_RETURN(held.table, columns.take_count(0, kMostCheckpointTables - 1));
    NEUROSHARD_ASSIGN_OR_RETURN(held.dim, columns.take_count(1, kMaxDim));
    device.columns.push_back(held);
  }
  return device;
}

Result<std::vector<MeasuredPlan>> take_plans(io::TensorFile& file) {
  NEUROSHARD_ASSIGN_OR_RETURN(NumberReader plans, NumberReader::of(kPlans, file));
  NEUROSHARD_ASSIGN_OR_RETURN(NumberReader devices, NumberReader::of(kDevices, file));
  NEUROSHARD_ASSIGN_OR_RETURN(NumberReader columns, NumberReader::of(kColumns, file));
  std::vector<MeasuredPlan> measured;
  while (!plans.done()) {
    MeasuredPlan plan;
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int32_t count, plans.take_count(1, kMaxDevices));
    NEUROSHARD_ASSIGN_OR_RETURN(plan.predicted_ms,
                                plans.take_number(-kLargestNumber, kLargestNumber));
    for (std::int32_t d = 0; d < count; ++d) {
      NEUROSHARD_ASSIGN_OR_RETURN(MeasuredDevice device, take_device(devices, columns));
      plan.devices.push_back(std::move(device));
    }
    measured.push_back(std::move(plan));
  }
  NEUROSHARD_RETURN_IF_ERROR(devices.finish());
  NEUROSHARD_RETURN_IF_ERROR(columns.finish());
  return measured;
}

Result<JointTrainingState> read_joint_state(io::TensorFile file, const PolicySettings& settings) {
  MetadataReader metadata(std::move(file.metadata));
  NEUROSHARD_RETURN_IF_ERROR(metadata.take_word("format", kJointFormat));
  NEUROSHARD_RETURN_IF_ERROR(metadata.take_word("version", kJointVersion));
  NEUROSHARD_RETURN_IF_ERROR(check_policy_settings(metadata, settings));
  JointTrainingState state;
  NEUROSHARD_ASSIGN_OR_RETURN(state.policy, take_policy_state(metadata, file));
  NEUROSHARD_ASSIGN_OR_RETURN(state.plans, take_plans(file));
  NEUROSHARD_RETURN_IF_ERROR(metadata.finish());
  NEUROSHARD_RETURN_IF_ERROR(check_no_tensor(file));
  return state;
}

}  // namespace

std::string format_joint_checkpoint(const PolicySettings& settings,
                                    const JointTrainingState& state) {
  io::TensorFile file;
  file.metadata = settings;
  file.metadata["format"] = kJointFormat;
  file.metadata["version"] = kJointVersion;
  put_policy_state(state.policy, file);
  put_plans(state.plans, file);
  return io::format_safetensors(file);
}

Result<JointTrainingState> parse_joint_checkpoint(std::string_view bytes, const std::string& source,
                                                  const PolicySettings& settings,
                                                  const JointRounds& rounds, const Workload& pool) {
  NEUROSHARD_ASSIGN_OR_RETURN(io::TensorFile file, io::parse_safetensors(bytes, source));
  Result<JointTrainingState> state = read_joint_state(std::move(file), settings);
  if (!state.ok()) return state.status().with_context(source);
  const Status possible = rounds.check(*state, pool);
  if (!possible.ok()) return possible.with_context(source);
  return state;
}

}  // namespace neuroshard
