#include "engine/policy/policy_tasks.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "engine/core/bytes.h"
#include "engine/core/decimal.h"
#include "engine/core/random_subset.h"
#include "engine/cost_model/make_evaluator.h"
#include "engine/policy/greedy_teacher.h"
#include "engine/policy/policy_reward.h"
#include "search/feasibility.h"
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

/// Whether each table of the pool has pieces that go somewhere on so many devices.
Status check_tables(const Workload& pool, const Cluster& cluster) {
  for (std::size_t index = 0; index < pool.tables.size(); ++index) {
    const std::vector<std::int32_t>& own = pool.tables[index].devices.devices();
    if (own.empty() || own.back() < cluster.devices) continue;
    return invalid_input(table_label(pool, static_cast<std::int32_t>(index)) + ": found device " +
                         std::to_string(own.back()) + " among its devices, expected below " +
                         std::to_string(cluster.devices) + ", the fewest that there are in a task");
  }
  const Status pieces = search::check_pieces({pool, cluster, search::space_of(pool, cluster)});
  return pieces.ok() ? pieces : invalid_input(pieces.message());
}

std::int64_t choices_of(std::size_t pieces, std::int32_t devices) {
  return static_cast<std::int64_t>(pieces) * devices;
}

bool may_be_anywhere(const search::PolicyPiece& piece) { return piece.only_on == nullptr; }

}  // namespace

Result<PolicyTaskSource> PolicyTaskSource::create(const Workload& pool, const CostModels& models,
                                                  const PolicyTasks& tasks,
                                                  const PolicyTaskUse& use) {
  PolicyTaskSource source(pool, tasks, use);
  for (const std::int32_t devices : tasks.devices) {
    NEUROSHARD_RETURN_IF_ERROR(
        check_tables(pool, {.devices = devices, .memory_bytes = tasks.memory_bytes}));
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
  std::array<int, kTriesEnd> outcomes{};
  for (int tries = 0; tries < kTries; ++tries) {
    PolicyTask task;
    const Try outcome = try_draw(ids, rng, stop, task);
    // Also of a task that was drawn: some of the rules may have been cut off.
    if (stop.cancelled()) return cancelled("interrupted");
    if (outcome == Try::kDrawn) return task;
    ++outcomes[static_cast<std::size_t>(outcome)];
  }
  const auto most = std::max_element(outcomes.begin(), outcomes.end());
  return none_drawn(static_cast<Try>(most - outcomes.begin()));
}

Status PolicyTaskSource::none_drawn(Try why) const {
  const std::string tasks = "random tasks of " + counted(tasks_.min_tables, "table") +
                            " and more on " + counted(tasks_.devices.front(), "device");
  const std::string memory = "device memory: found " + format_bytes(tasks_.memory_bytes);
  switch (why) {
    case Try::kStuckOnFew:
      return invalid_input("devices of the tables: in most " + tasks +
                           " those that tables may be on have no memory for them, found " +
                           format_bytes(tasks_.memory_bytes) + " each");
    case Try::kTooManyChoices:
      return invalid_input("devices: found up to " + std::to_string(tasks_.devices.back()) +
                           ", expected fewer: in most " + tasks +
                           " pieces x devices are more than " + std::to_string(use_.most_choices));
    case Try::kNoCosts:
      return invalid_input("cost model: found no cost above 0 in most " + tasks);
    case Try::kStuck:
      return invalid_input(memory + ", expected enough for rules to place " + tasks +
                           ", in pieces as tables may be in them");
    default:
      return invalid_input(memory + ", expected enough for " + tasks);
  }
}

PolicyTaskSource::Try PolicyTaskSource::try_draw(std::span<const std::int32_t> ids, Rng& rng,
                                                 const search::StopCheck& stop, PolicyTask& task) {
  task.world = static_cast<std::int32_t>(rng.below(worlds_.size()));
  PolicyWorld& world = worlds_[static_cast<std::size_t>(task.world)];
  const auto count = static_cast<std::size_t>(rng.between(tasks_.min_tables, tasks_.max_tables));
  const std::vector<std::int32_t> tables = random_subset(ids, count, rng);
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
  if (bytes > static_cast<double>(memory) * world.devices) return Try::kTooLarge;

  const search::PieceCutter cutter(world.space, *world.evaluator);
  task.pieces = cutter.cut(tables, {.bytes = memory});
  const double balanced = search::balanced_cost(task.pieces, *world.evaluator);
  if (!(balanced > 0)) return Try::kNoCosts;
  task.pieces = cutter.cut(tables, {.cost = division * balanced, .bytes = memory});
  std::sort(task.pieces.begin(), task.pieces.end(), search::costlier_piece);
  if (choices_of(task.pieces.size(), world.devices) > use_.most_choices) {
    return Try::kTooManyChoices;
  }
  task.setting = search::episode_setting(task.pieces, *world.evaluator, memory);
  return teach(stop, task);
}

/// The best plan of the rules becomes the teacher's, with what it had to halve. None where no rule
/// has a plan.
PolicyTaskSource::Try PolicyTaskSource::teach(const search::StopCheck& stop, PolicyTask& task) {
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
    const double penalty = penalty_of(use_.reward, *world.evaluator, found.placed, scratch);
    if (best.complete && penalty >= task.teacher_penalty) continue;
    task.teacher_penalty = penalty;
    best = std::move(found);
  }
  if (!best.complete) {
    const bool anywhere = std::all_of(task.pieces.begin(), task.pieces.end(), may_be_anywhere);
    return anywhere ? Try::kStuck : Try::kStuckOnFew;
  }
  if (!(task.teacher_penalty > 0)) return Try::kNoCosts;
  if (choices_of(best.pieces.size(), world.devices) > use_.most_choices) {
    return Try::kTooManyChoices;
  }
  task.pieces = std::move(best.pieces);
  return Try::kDrawn;
}

}  // namespace neuroshard
