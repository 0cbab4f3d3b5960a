#include "engine/policy/policy_tasks.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "engine/core/bytes.h"
#include "engine/cost_model/make_evaluator.h"
#include "engine/policy/greedy_teacher.h"
#include "search/policy/rollout.h"

namespace neuroshard {
namespace {

/// How much dims weigh in the rules that are tried; the best of their plans is the teacher's.
constexpr std::array kDimsWeights{0.0f, 0.1f, 0.25f, 0.5f, 1.0f};

/// Pieces of a task may cost so many times the balanced load; the first: any.
constexpr std::array kTaskDivisions{std::numeric_limits<double>::infinity(), 1.0, 0.5};

constexpr std::uint64_t kOneTightOf = 4;
constexpr double kLeastRoom = 0.05;
constexpr double kTightRoom = 0.35;  // above that, at most
constexpr int kTries = 500;

/// `count` of `ids` at random, each once.
std::vector<std::int32_t> some_of(std::span<const std::int32_t> ids, std::size_t count, Rng& rng) {
  std::vector<std::int32_t> drawn(ids.begin(), ids.end());
  count = std::min(count, drawn.size());
  for (std::size_t k = 0; k < count; ++k) {
    std::swap(drawn[k], drawn[k + rng.below(drawn.size() - k)]);
  }
  drawn.resize(count);
  return drawn;
}

}  // namespace

Result<PolicyTaskSource> PolicyTaskSource::create(const Workload& pool, const CostModels& models,
                                                  const PolicyTasks& tasks) {
  PolicyTaskSource source(pool, tasks);
  for (const std::int32_t devices : tasks.devices) {
    NEUROSHARD_ASSIGN_OR_RETURN(std::unique_ptr<CostEvaluator> evaluator,
                                make_evaluator(models, pool, devices));
    source.worlds_.push_back(
        {devices, std::move(evaluator),
         search::space_of(pool, {.devices = devices, .memory_bytes = tasks.memory_bytes})});
  }
  return source;
}

Result<PolicyTask> PolicyTaskSource::draw(std::span<const std::int32_t> ids, Rng& rng,
                                          const CancelToken* cancel) {
  const search::StopCheck stop(search::SearchOptions{.cancel = cancel});
  for (int tries = 0; tries < kTries; ++tries) {
    PolicyTask task;
    if (try_draw(ids, rng, stop, task)) return task;
    if (stop.cancelled()) return cancelled("interrupted");
  }
  return invalid_input("device memory: found " + format_bytes(tasks_.memory_bytes) +
                       ", expected enough for random tasks of " +
                       std::to_string(tasks_.min_tables) + " tables and more on " +
                       std::to_string(tasks_.devices.front()) + " devices");
}

bool PolicyTaskSource::try_draw(std::span<const std::int32_t> ids, Rng& rng,
                                const search::StopCheck& stop, PolicyTask& task) {
  task.world = static_cast<std::int32_t>(rng.below(worlds_.size()));
  PolicyWorld& world = worlds_[static_cast<std::size_t>(task.world)];
  const auto count = static_cast<std::size_t>(rng.between(tasks_.min_tables, tasks_.max_tables));
  const std::vector<std::int32_t> tables = some_of(ids, count, rng);
  const double division = kTaskDivisions[rng.below(kTaskDivisions.size())];
  const bool tight = rng.below(kOneTightOf) == 0;
  const double room = 1 + kLeastRoom + kTightRoom * rng.uniform();

  double bytes = 0;
  for (const std::int32_t table : tables) {
    bytes += static_cast<double>(world.space.whole_bytes(table));
  }
  std::int64_t memory = tasks_.memory_bytes;
  const double each = room * bytes / world.devices;
  if (tight) memory = std::min(memory, static_cast<std::int64_t>(each));
  if (bytes > static_cast<double>(memory) * world.devices) return false;

  const search::PieceCutter cutter(world.space, *world.evaluator);
  task.pieces = cutter.cut(tables, {.bytes = memory});
  const double balanced = search::balanced_cost(task.pieces, *world.evaluator);
  if (!(balanced > 0)) return false;
  task.pieces = cutter.cut(tables, {.cost = division * balanced, .bytes = memory});
  std::sort(task.pieces.begin(), task.pieces.end(), search::costlier_piece);
  task.setting = search::episode_setting(task.pieces, *world.evaluator, memory);
  return teach(stop, task);
}

/// The best plan of the rules becomes the teacher's, with what it had to halve. False where none
/// has a plan.
bool PolicyTaskSource::teach(const search::StopCheck& stop, PolicyTask& task) {
  PolicyWorld& world = worlds_[static_cast<std::size_t>(task.world)];
  const search::PieceCutter cutter(world.space, *world.evaluator);
  search::Scratch scratch;
  search::Rollout best;
  for (const float weight : kDimsWeights) {
    const std::unique_ptr<search::PolicyRun> run = GreedyTeacher(weight).begin(*pool_);
    const search::Halving halving{cutter, *run};
    search::Episode episode(*world.evaluator, *run);
    search::Rollout found = search::roll_out(episode, task.setting, task.pieces,
                                             search::costlier_piece, &halving, nullptr, stop);
    if (!found.complete) continue;
    double cost = 0;
    world.evaluator->plan_costs({1, found.compute_ms, found.dim_sums}, {&cost, 1}, scratch);
    if (best.complete && cost >= task.teacher_ms) continue;
    task.teacher_ms = cost;
    best = std::move(found);
  }
  if (!best.complete || !(task.teacher_ms > 0)) return false;
  task.pieces = std::move(best.pieces);
  return true;
}

}  // namespace neuroshard
