#include "search/beam.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "search/piece_sizes.h"
#include "search/workers.h"

namespace neuroshard::search {
namespace {

/// The paper halves a shard while half is a multiple of 4 columns; and as its table allows.
bool halvable(const SearchSpace& space, const Shard& shard) {
  return shard.dim() % 8 == 0 && split_point(space.of(shard.table), shard.dim()) > 0;
}

struct SequenceHash {
  std::size_t operator()(const std::vector<ShapeId>& sequence) const {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const ShapeId shape : sequence) {
      hash = (hash ^ static_cast<std::uint32_t>(shape)) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

/// One run of the beam.
class BeamSearch {
 public:
  BeamSearch(const Problem& problem, PlanEvaluator& evaluator, const BeamOptions& beam,
             const SearchOptions& options, const StopCheck& stop);
  BeamResult run(ShardSet start);

 private:
  /// What is known of a sequence of shapes in placing order. Equal sequences are placed equally,
  /// and the same splits made in another order lead to the same one, so each is placed once.
  struct Known {
    const ShardSet* shards = nullptr;  // to place
    std::optional<Placement> placement;
  };
  struct Child {
    ShardSet shards;
    Known* known;
  };

  Known& look_up(const ShardSet& shards);
  std::vector<Child> expand(const std::vector<ShardSet>& beam);
  static std::vector<Child> link(std::vector<Child> children);
  void place_start(Known& start);
  bool place_new();
  void improve(const ShardSet& shards, const Placement& placement);
  [[nodiscard]] std::vector<ShardSet> survivors(std::vector<Child> children) const;
  void report(int level) const;

  const Problem& problem_;
  PlanEvaluator& evaluator_;
  const BeamOptions& beam_;
  const SearchOptions& options_;
  const StopCheck& stop_;
  std::vector<GridPlacer> placers_;  // one a worker
  std::unordered_map<std::vector<ShapeId>, Known, SequenceHash> known_;
  std::vector<Known*> unplaced_;
  bool interrupted_ = false;  // before all children were there
  BeamResult result_;
};

BeamSearch::BeamSearch(const Problem& problem, PlanEvaluator& evaluator, const BeamOptions& beam,
                       const SearchOptions& options, const StopCheck& stop)
    : problem_(problem), evaluator_(evaluator), beam_(beam), options_(options), stop_(stop) {
  const int workers = workers_of(options.pool);
  placers_.reserve(static_cast<std::size_t>(workers));
  for (int worker = 0; worker < workers; ++worker) {
    placers_.emplace_back(evaluator, problem.cluster, beam.grid);
  }
}

BeamResult BeamSearch::run(ShardSet start) {
  Known& known = look_up(start);
  known.shards = &start;
  place_start(known);
  result_.shards = start;
  if (result_.stopped_early) return std::move(result_);
  std::vector<ShardSet> beam;
  beam.push_back(std::move(start));
  for (int level = 0; level < beam_.max_splits && !beam.empty(); ++level) {
    report(level);
    std::vector<Child> children = expand(beam);
    const bool complete = place_new() && !interrupted_;
    for (const Child& child : children) {
      if (child.known->placement) improve(child.shards, *child.known->placement);
    }
    if (!complete) {
      result_.stopped_early = true;
      break;
    }
    beam = survivors(std::move(children));
  }
  report(beam_.max_splits);
  return std::move(result_);
}

void BeamSearch::report(int level) const {
  if (options_.progress == nullptr) return;
  options_.progress->update("search", level, beam_.max_splits, "splits");
}

BeamSearch::Known& BeamSearch::look_up(const ShardSet& shards) {
  std::vector<ShapeId> sequence;
  sequence.reserve(shards.size());
  for (const PlacementItem& item : shards.by_cost()) {
    sequence.push_back(item.shape);
    if (item.only_on != nullptr) sequence.push_back(-1 - shards.shard(item.index).table);
  }
  const auto [entry, is_new] = known_.try_emplace(std::move(sequence));
  if (is_new) unplaced_.push_back(&entry->second);  // nodes of the map never move
  return entry->second;
}

std::vector<BeamSearch::Child> BeamSearch::expand(const std::vector<ShardSet>& beam) {
  std::vector<Child> children;
  for (const ShardSet& parent : beam) {
    for (const std::int32_t index : parent.candidates(beam_.candidates)) {
      if (!halvable(problem_.space, parent.shard(index))) continue;
      interrupted_ = stop_.stop();
      if (interrupted_) return link(std::move(children));
      Child child{parent, nullptr};
      child.shards.split(index, parent.shard(index).dim() / 2, problem_.space, evaluator_);
      child.known = &look_up(child.shards);
      children.push_back(std::move(child));
    }
  }
  return link(std::move(children));
}

/// Only when `children` no longer grows do its elements stay where they are.
std::vector<BeamSearch::Child> BeamSearch::link(std::vector<Child> children) {
  for (Child& child : children) child.known->shards = &child.shards;
  return children;
}

/// Until there is a plan, whatever the time.
void BeamSearch::place_start(Known& start) {
  result_.placement = placers_.front().evaluate_some(*start.shards, stop_);
  result_.evaluations += result_.placement.evaluations;
  result_.stopped_early = result_.placement.cut_short;
  start.placement = result_.placement;
  unplaced_.clear();
}

/// Places all shard sets seen for the first time. False when stopped before the end.
bool BeamSearch::place_new() {
  const auto body = [&](std::int64_t index, int worker) {
    Known& known = *unplaced_[static_cast<std::size_t>(index)];
    known.placement = placers_[static_cast<std::size_t>(worker)].evaluate(*known.shards, &stop_);
  };
  for_each_index(options_.pool, static_cast<std::int64_t>(unplaced_.size()), body);
  bool complete = true;
  for (Known* known : unplaced_) {
    if (known->placement) {
      result_.evaluations += known->placement->evaluations;
    } else {
      complete = false;
    }
  }
  unplaced_.clear();
  return complete;
}

void BeamSearch::improve(const ShardSet& shards, const Placement& placement) {
  const Placement& best = result_.placement;
  if (!placement.feasible || (best.feasible && placement.cost >= best.cost)) return;
  result_.shards = shards;
  result_.placement = placement;
}

std::vector<ShardSet> BeamSearch::survivors(std::vector<Child> children) const {
  std::stable_sort(children.begin(), children.end(), [](const Child& a, const Child& b) {
    return a.known->placement->cost < b.known->placement->cost;
  });
  std::vector<ShardSet> beam;
  for (Child& child : children) {
    if (beam.size() == beam_.width) break;
    beam.push_back(std::move(child.shards));
  }
  return beam;
}

}  // namespace

BeamResult beam_search(const Problem& problem, PlanEvaluator& evaluator, ShardSet start,
                       const BeamOptions& beam, const SearchOptions& options,
                       const StopCheck& stop) {
  return BeamSearch(problem, evaluator, beam, options, stop).run(std::move(start));
}

}  // namespace neuroshard::search
