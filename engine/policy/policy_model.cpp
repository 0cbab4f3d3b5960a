#include "engine/policy/policy_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/cluster.h"
#include "engine/core/decimal.h"
#include "engine/policy/policy_context.h"
#include "engine/policy/policy_head.h"
#include "io/text.h"

namespace neuroshard {
namespace {

constexpr std::array kKinds{std::pair(PolicyKind::kDreamshard, std::string_view("dreamshard")),
                            std::pair(PolicyKind::kAutoshard, std::string_view("autoshard"))};
constexpr std::array kRewards{std::pair(PolicyReward::kCost, std::string_view("cost")),
                              std::pair(PolicyReward::kBalance, std::string_view("balance"))};

template <typename Names>
auto parse_name(const Names& names, std::string_view text) -> Result<decltype(names[0].first)> {
  std::string known;
  for (const auto& [value, name] : names) {
    if (name == text) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return invalid_input("found " + io::excerpt(text) + ", expected " + known);
}

template <typename Names, typename Value>
std::string_view name_of(const Names& names, Value value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "unknown";
}

Status expect(bool holds, const std::string& what, std::int64_t found,
              const std::string& expected) {
  if (holds) return {};
  return invalid_input(what + ": found " + std::to_string(found) + ", expected " + expected);
}

std::string listed(const std::vector<std::int32_t>& numbers) {
  std::string text;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const bool last = k + 1 == numbers.size();
    text += (k == 0 ? "" : last ? " and " : ", ") + std::to_string(numbers[k]);
  }
  return text;
}

}  // namespace

Result<PolicyKind> parse_policy_kind(std::string_view text) { return parse_name(kKinds, text); }
std::string_view to_string(PolicyKind kind) { return name_of(kKinds, kind); }

Result<PolicyReward> parse_policy_reward(std::string_view text) {
  return parse_name(kRewards, text);
}
std::string_view to_string(PolicyReward reward) { return name_of(kRewards, reward); }

PolicyReward usual_reward(PolicyKind kind) {
  return kind == PolicyKind::kAutoshard ? PolicyReward::kBalance : PolicyReward::kCost;
}

Status validate(const PolicyTasks& tasks) {
  const std::vector<std::int32_t>& devices = tasks.devices;
  NEUROSHARD_RETURN_IF_ERROR(expect(!devices.empty(), "devices", 0, "some numbers of them"));
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const bool rises = k == 0 || devices[k] > devices[k - 1];
    NEUROSHARD_RETURN_IF_ERROR(expect(rises && devices[k] >= 1 && devices[k] <= kMaxDevices,
                                      "devices", devices[k],
                                      "ascending ones from 1 to " + std::to_string(kMaxDevices)));
  }
  NEUROSHARD_RETURN_IF_ERROR(
      expect(tasks.min_tables >= 1, "least tables of a task", tasks.min_tables, "at least 1"));
  NEUROSHARD_RETURN_IF_ERROR(expect(tasks.max_tables >= tasks.min_tables, "most tables of a task",
                                    tasks.max_tables,
                                    "at least " + std::to_string(tasks.min_tables)));
  return expect(tasks.memory_bytes >= 1, "device memory", tasks.memory_bytes, "at least 1 byte");
}

Status validate(const PolicyModel& model) {
  NEUROSHARD_RETURN_IF_ERROR(validate(model.tasks));
  const int features = model.features.size();
  for (const std::vector<float>* one : {&model.scaling.mean, &model.scaling.std}) {
    const auto size = static_cast<std::int64_t>(one->size());
    NEUROSHARD_RETURN_IF_ERROR(
        expect(size == features, "scaling", size, std::to_string(features) + ", the features'"));
  }
  const auto positive = [](float value) { return value > 0; };
  if (!std::all_of(model.scaling.std.begin(), model.scaling.std.end(), positive)) {
    return invalid_input("scaling: found a deviation that is not above 0");
  }
  NEUROSHARD_RETURN_IF_ERROR(expect(model.table.inputs() == features, "table network's inputs",
                                    model.table.inputs(), std::to_string(features)));
  NEUROSHARD_RETURN_IF_ERROR(expect(model.head.depth() == 2, "head's layers",
                                    static_cast<std::int64_t>(model.head.depth()), "2"));
  NEUROSHARD_RETURN_IF_ERROR(expect(model.head.inputs() == kPolicyContext, "head's inputs",
                                    model.head.inputs(), std::to_string(kPolicyContext)));
  NEUROSHARD_RETURN_IF_ERROR(
      expect(model.head.outputs() == 1, "head's outputs", model.head.outputs(), "1"));
  const int hidden = model.hidden();
  NEUROSHARD_RETURN_IF_ERROR(expect(hidden % 8 == 0 && hidden <= kMostPolicyUnits,
                                    "head's hidden units", hidden,
                                    "a multiple of 8 up to " + std::to_string(kMostPolicyUnits)));
  NEUROSHARD_RETURN_IF_ERROR(expect(model.table.outputs() == 2 * hidden, "table network's outputs",
                                    model.table.outputs(),
                                    std::to_string(2 * hidden) + ", twice the hidden units"));
  const auto parameters = static_cast<std::int64_t>(
      model.recurrent() ? nn::parameter_count(model.lstm_spec()) : std::size_t{0});
  const auto found = static_cast<std::int64_t>(model.lstm.size());
  return expect(found == parameters, "LSTM's parameters", found, std::to_string(parameters));
}

std::string outside_of_training(const PolicyModel& model, const std::string& name,
                                std::int32_t devices, std::int64_t tables) {
  const PolicyTasks& known = model.tasks;
  const bool few = devices < known.devices.front() && devices > 1;
  if (!few && devices <= known.devices.back() && tables >= known.min_tables &&
      tables <= known.max_tables) {
    return "";
  }
  std::string sizes = counted(known.max_tables, "table");
  if (known.min_tables < known.max_tables)
    sizes = std::to_string(known.min_tables) + " to " + sizes;
  const std::string numbers = known.devices.size() == 1 ? counted(known.devices.front(), "device")
                                                        : listed(known.devices) + " devices";
  return name + ": trained on " + numbers + " and " + sizes + ", what it does with " +
         counted(tables, "table") + " on " + counted(devices, "device") + " is not known";
}

/// No batch size: a pool has one alone, so nothing could be learned about others.
std::string policy_features() {
  return "log_dim,log_rows,log_pooling_factor,log_distinct_rows,log_lookup_bytes,"
         "log_distinct_bytes,log_bytes,log_mean_reuse,distinct_share,dim,pooling_factor";
}

}  // namespace neuroshard
