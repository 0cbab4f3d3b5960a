#include "apps/flags/policy_flags.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "apps/console/output.h"
#include "apps/console/words.h"
#include "engine/policy/policy_file.h"
#include "io/file.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

constexpr std::int32_t kMostTaskTables = 100'000;

/// A remark where a flag is given that only other algorithms go by.
void note_unused(const FlagSet& flags, const std::string& flag,
                 const std::vector<std::string>& users) {
  if (!flags.given(flag)) return;
  print_note("--" + flag + ": changes nothing, only " + join(users, ", ") + " go by it");
}

}  // namespace

void PolicyFlags::declare(FlagSet& flags) {
  const std::string users = join(policy_algorithm_names(), ", ");
  flags
      .text("policy", "FILE",
            "for " + users +
                ", a policy of `train policy`; for surco, what it begins with instead of random "
                "numbers",
            &path_)
      .reads();
  flags.integer("samples",
                "for " + users +
                    ", how many plans to draw from the policy's probabilities beside "
                    "its first choice; the cheapest counts",
                &samples_, 0, kMostSamples);
}

Status PolicyFlags::apply(const FlagSet& flags, std::span<const std::string> algorithms,
                          PlanOptions* options) {
  const std::vector<std::string> users = policy_algorithm_names();
  const auto user =
      std::find_first_of(algorithms.begin(), algorithms.end(), users.begin(), users.end());
  if (user == algorithms.end()) {
    note_unused(flags, "samples", users);
  } else if (!path_) {
    return invalid_input(
        "--policy: found none, expected a file of `train policy` for the algorithm " + *user);
  }
  const std::vector<std::string> heeding = policy_heeding_names();
  const bool heeded = std::find_first_of(algorithms.begin(), algorithms.end(), heeding.begin(),
                                         heeding.end()) != algorithms.end();
  if (!heeded) note_unused(flags, "policy", heeding);
  if (!heeded || !path_) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(model_, read_policy(*path_));
  const std::string kind(to_string(model_->kind));
  for (const std::string& algorithm : algorithms) {
    const bool other = algorithm != kind && std::count(users.begin(), users.end(), algorithm) > 0;
    if (!other) continue;
    return invalid_input("--policy: found a policy of kind " + kind + " in " +
                         io::printable(*path_) + ", expected one of kind " + algorithm +
                         " for the algorithm " + algorithm);
  }
  policy_ = std::make_unique<NetworkPolicy>(*model_);
  options->policy = policy_.get();
  options->policy_samples = samples_;
  return {};
}

void PolicyFlags::note_other_training(const NamedCostModels& models, std::int32_t devices,
                                      std::int64_t least_tables, std::int64_t most_tables) const {
  if (!model_) return;
  note_policy_training(*model_, io::printable(io::file_name(*path_)), models, devices, least_tables,
                       most_tables);
}

void declare_task_tables(FlagSet& flags, std::vector<std::int32_t>* out,
                         const std::string& otherwise) {
  flags.integers("task-tables", "the least and the most tables of a task", out, 1, kMostTaskTables)
      .default_text(otherwise);
}

Status set_task_tables(const std::vector<std::int32_t>& given, std::int32_t* least,
                       std::int32_t* most) {
  if (given.empty()) return {};
  if (given.size() != 2 || given[0] > given[1]) {
    std::vector<std::string> words;
    for (const std::int32_t count : given) words.push_back(std::to_string(count));
    return invalid_input("--task-tables: found " + join(words, ",") +
                         ", expected the least and the most, such as 10,60");
  }
  *least = given[0];
  *most = given[1];
  return {};
}

void note_policy_training(const PolicyModel& policy, const std::string& name,
                          const NamedCostModels& models, std::int32_t devices,
                          std::int64_t least_tables, std::int64_t most_tables) {
  const PolicyOrigin& own = policy.origin;
  if (own.cost_model_sha256 != models.sha256) {
    const std::string other = own.cost_model == models.name ? " (its sha256 differs)" : "";
    print_note(name + ": was trained by the cost model " + io::printable(own.cost_model) +
               ", here it is " + models.name + other);
  }
  std::string outside = outside_of_training(policy, name, devices, most_tables);
  if (outside.empty()) outside = outside_of_training(policy, name, devices, least_tables);
  note_if_any(outside);
}

}  // namespace neuroshard::apps
