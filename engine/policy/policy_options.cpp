#include <algorithm>
#include <string>

#include "engine/core/bytes.h"
#include "engine/policy/policy_context.h"
#include "engine/policy/policy_training.h"

namespace neuroshard {
namespace {

Status check_integer(const std::string& what, std::int64_t found, std::int64_t low,
                     std::int64_t high) {
  if (found >= low && found <= high) return {};
  return invalid_input(what + ": found " + std::to_string(found) + ", expected " +
                       std::to_string(low) + " to " + std::to_string(high));
}

}  // namespace

const PolicyPoint& best_look(const std::vector<PolicyPoint>& curve) {
  return *std::min_element(curve.begin(), curve.end(),
                           [](const PolicyPoint& a, const PolicyPoint& b) {
                             return a.validation_share < b.validation_share;
                           });
}

Status validate(const PolicyTrainOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(check_integer("updates", options.updates, 1, 1'000'000));
  NEUROSHARD_RETURN_IF_ERROR(check_integer("episodes", options.episodes, 2, 1024));
  NEUROSHARD_RETURN_IF_ERROR(check_integer("imitations", options.imitations, 0, 1'000'000));
  NEUROSHARD_RETURN_IF_ERROR(check_integer("tasks a step", options.batch, 1, 1024));
  NEUROSHARD_RETURN_IF_ERROR(
      check_integer("hidden units / 8", options.hidden % 8 == 0 ? options.hidden / 8 : 0, 1, 128));
  NEUROSHARD_RETURN_IF_ERROR(validate(options.tasks));
  const std::int64_t most = most_choices(options) / options.tasks.max_tables;
  if (options.tasks.devices.back() <= most) return {};
  return invalid_input("devices: found " + std::to_string(options.tasks.devices.back()) +
                       ", expected at most " + std::to_string(most) + " for tasks of " +
                       std::to_string(options.tasks.max_tables) + " tables and " +
                       std::to_string(options.episodes) + " plans of each, which are kept in " +
                       format_bytes(kMostTrainingBytes) + " a thread");
}

std::int64_t most_choices(const PolicyTrainOptions& options) {
  const auto values = std::int64_t{options.hidden} + kPolicyContext + 1;
  const auto bytes = values * static_cast<std::int64_t>(sizeof(float)) * options.episodes;
  return kMostTrainingBytes / bytes;
}

Status check_policy_pool(const Workload& pool, const PolicyTasks& tasks) {
  NEUROSHARD_RETURN_IF_ERROR(validate(pool));
  const auto least = 2 * static_cast<std::size_t>(tasks.min_tables);
  if (pool.tables.size() >= least) return {};
  return invalid_input("tables: found " + std::to_string(pool.tables.size()) + ", expected " +
                       std::to_string(least) + " at least, for tasks of " +
                       std::to_string(tasks.min_tables) +
                       " to train on and as many that are held out");
}

}  // namespace neuroshard
