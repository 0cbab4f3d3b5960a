#include "engine/policy/policy_validation.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "engine/policy/network_policy.h"
#include "engine/policy/policy_learner.h"
#include "engine/policy/policy_reward.h"
#include "search/policy/rollout.h"

namespace neuroshard {
namespace {

/// One run for each number of devices, which has learned all pieces of its tasks.
std::vector<std::unique_ptr<search::PolicyRun>> runs_of(const NetworkPolicy& policy,
                                                        const PolicyTaskSource& source,
                                                        const std::vector<PolicyTask>& tasks) {
  std::vector<std::unique_ptr<search::PolicyRun>> runs;
  for (std::size_t world = 0; world < source.worlds(); ++world) {
    runs.push_back(policy.begin(source.pool()));
    std::vector<search::ShapeId> ids;
    std::vector<ShardShape> shapes;
    for (const PolicyTask& task : tasks) {
      if (task.world != static_cast<std::int32_t>(world)) continue;
      for (const search::PolicyPiece& piece : task.pieces) {
        ids.push_back(piece.shape);
        shapes.push_back(shape_of(piece.shard));
      }
    }
    runs.back()->learn(ids, shapes);
  }
  return runs;
}

}  // namespace

double validation_share(const PolicyModel& model, const PolicyTaskSource& source,
                        const std::vector<PolicyTask>& tasks, ThreadPool& pool) {
  const NetworkPolicy policy(model);
  const auto runs = runs_of(policy, source, tasks);
  const search::StopCheck never(search::SearchOptions{});
  std::vector<double> shares(tasks.size(), kStuckShare);
  pool.parallel_for(static_cast<std::int64_t>(tasks.size()), [&](std::int64_t index, int) {
    const PolicyTask& task = tasks[static_cast<std::size_t>(index)];
    const PolicyWorld& world = source.world(task.world);
    search::Episode episode(*world.evaluator, *runs[static_cast<std::size_t>(task.world)]);
    search::Rollout found = search::roll_out(episode, task.setting, task.pieces,
                                             search::costlier_piece, nullptr, nullptr, never);
    if (!found.complete) {  // what the search would do, too
      std::vector<search::PolicyPiece> pieces = task.pieces;
      std::sort(pieces.begin(), pieces.end(), search::larger_piece);
      found = search::roll_out(episode, task.setting, pieces, search::larger_piece, nullptr,
                               nullptr, never);
    }
    if (!found.complete) return;
    search::Scratch scratch;
    const double penalty = penalty_of(source.reward(), *world.evaluator, found.placed, scratch);
    shares[static_cast<std::size_t>(index)] = penalty / task.teacher_penalty;
  });
  double sum = 0;
  for (const double share : shares) sum += share;
  return sum / static_cast<double>(tasks.size());
}

}  // namespace neuroshard
