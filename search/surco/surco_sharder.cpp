#include "search/surco/surco_sharder.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "search/feasibility.h"
#include "search/packing/plan_packing.h"
#include "search/policy/device_room.h"
#include "search/policy/policy_pieces.h"
#include "search/surco/adam.h"
#include "search/surco/placed_pieces.h"
#include "search/surco/plan_slopes.h"
#include "search/surco/relaxed_assignment.h"
#include "search/surco/start_costs.h"

namespace neuroshard::search {
namespace {

// As in the paper.
constexpr double kRate = 0.05;

// 40 tasks of 10 to 60 generated tables on 4 and 8 devices, each by h100_sim and torchrec, a
// softness of 0.2: with 0.02 the plans are 3 and 1 % costlier than with 0.1, with 0.3 and 1 within
// 1 %.
constexpr double kTemperature = 0.1;

// The same tasks: with 0.001, the slowest device alone, the plans are 5 and 2 % costlier than with
// 0.3, with 0.05 3 and 2 %, with 1 3 % and the same.
constexpr double kSoftness = 0.3;

/// Of all tables.
std::vector<PolicyPiece> cut_pieces(const Problem& problem, PlanEvaluator& evaluator) {
  std::vector<std::int32_t> tables(problem.workload.tables.size());
  std::iota(tables.begin(), tables.end(), 0);
  std::vector<PolicyPiece> pieces =
      PieceCutter(problem.space, evaluator).cut(tables, {.bytes = problem.cluster.memory_bytes});
  std::sort(pieces.begin(), pieces.end(), costlier_piece);
  return pieces;
}

class SurcoSearch {
 public:
  SurcoSearch(const Problem& problem, PlanEvaluator& evaluator, const SearchOptions& options,
              std::vector<PolicyPiece> pieces)
      : problem_(problem),
        evaluator_(evaluator),
        options_(options),
        stop_(options),
        patience_(with_patience(options)),
        pieces_(std::move(pieces)),
        by_bytes_(pieces_.size()),
        relaxed_(pieces_, evaluator.devices(), problem.cluster.memory_bytes, kTemperature),
        room_(evaluator.devices()),
        placed_(evaluator),
        surrogate_(first_costs()),
        slopes_(surrogate_.size()),
        gradient_(surrogate_.size()),
        adam_(surrogate_.size(), kRate) {
    std::iota(by_bytes_.begin(), by_bytes_.end(), 0);
    std::sort(by_bytes_.begin(), by_bytes_.end(),
              [&](std::size_t a, std::size_t b) { return larger_piece(pieces_[a], pieces_[b]); });
  }

  Result<SearchResult> run();

 private:
  [[nodiscard]] std::vector<double> first_costs();
  [[nodiscard]] const StopCheck& stop() const { return best_.empty() ? patience_ : stop_; }
  bool assign();
  void look();
  void learn();

  const Problem& problem_;
  PlanEvaluator& evaluator_;
  const SearchOptions& options_;
  const StopCheck stop_;
  const StopCheck patience_;           // until there is a plan
  std::vector<PolicyPiece> pieces_;    // on the devices of the last step that all fitted in
  std::vector<std::size_t> by_bytes_;  // the largest first
  RelaxedAssignment relaxed_;
  DeviceRoom room_;
  PlacedPieces placed_;
  std::vector<double> surrogate_;  // [pieces, devices], as the next two
  std::vector<double> slopes_;
  std::vector<double> gradient_;
  Adam adam_;

  std::vector<PolicyPiece> best_;  // empty: there is no plan yet
  double cost_ = std::numeric_limits<double>::infinity();
  std::int64_t evaluations_ = 0;
  Scratch scratch_;
};

std::vector<double> SurcoSearch::first_costs() {
  if (options_.policy == nullptr) {
    const auto devices = static_cast<std::size_t>(evaluator_.devices());
    return random_costs(pieces_.size() * devices, options_.seed);
  }
  const std::unique_ptr<PolicyRun> run = options_.policy->begin(problem_.workload);
  return policy_costs(pieces_, *run, evaluator_, problem_.cluster.memory_bytes, kTemperature);
}

/// Puts each piece where its share is the largest, of the devices that have room left: false where
/// one has no place, and then all stay where they are.
bool SurcoSearch::assign() {
  std::vector<std::int32_t> device_of(pieces_.size());
  room_.reset(problem_.cluster.memory_bytes);
  for (const std::size_t p : by_bytes_) {
    if (!room_.offer(pieces_[p])) return false;
    device_of[p] = relaxed_.preferred(p, room_.allowed());
    room_.place(pieces_[p], device_of[p]);
  }
  for (std::size_t p = 0; p < pieces_.size(); ++p) pieces_[p].shard.device = device_of[p];
  return true;
}

/// Has the plan of this step costed.
void SurcoSearch::look() {
  placed_.place(pieces_);
  double cost = 0;
  evaluator_.plan_costs(placed_.placed().batch(), {&cost, 1}, scratch_);
  ++evaluations_;
  if (!best_.empty() && cost >= cost_) return;
  best_ = pieces_;
  cost_ = cost;
}

/// A step of the surrogate costs, away from what makes this step's plan dear.
void SurcoSearch::learn() {
  const PlanSlopes of_plan = plan_slopes(placed_.placed().batch(), evaluator_, kSoftness, scratch_);
  placed_.added_compute(pieces_, slopes_);
  const std::size_t devices = of_plan.per_dim.size();
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    const auto dims = static_cast<double>(pieces_[p].exchanged.dims);
    for (std::size_t d = 0; d < devices; ++d) {
      double& slope = slopes_[p * devices + d];
      slope = slope * of_plan.per_compute[d] + dims * of_plan.per_dim[d];
    }
  }
  relaxed_.pull_back(slopes_, gradient_);
  adam_.step(gradient_, surrogate_);
}

Result<SearchResult> SurcoSearch::run() {
  const std::int64_t steps = options_.evaluations > 0 ? options_.evaluations : kSurcoSteps;
  bool stopped = false;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (options_.progress != nullptr) options_.progress->update("surco", step, steps, "plans");
    stopped = stop().stop() || !relaxed_.solve(surrogate_, stop());
    if (stopped) break;
    if (assign()) look();
    if (best_.empty()) break;  // nothing to learn from
    if (step + 1 < steps) learn();
  }
  if (!best_.empty()) {
    Plan plan{problem_.cluster.devices, {}};
    for (const PolicyPiece& piece : best_) plan.shards.push_back(piece.shard);
    return SearchResult{std::move(plan), evaluations_, stopped};
  }
  return packed_instead(problem_, patience_, evaluations_, stopped);
}

Status check_size(const Problem& problem) {
  const std::size_t tables = problem.workload.tables.size();
  const std::int64_t costs = static_cast<std::int64_t>(tables) * problem.cluster.devices;
  if (costs <= kMostSurcoCosts) return {};
  return invalid_input("this algorithm learns a cost for each table on each device, at most " +
                       std::to_string(kMostSurcoCosts) + ": " + std::to_string(tables) +
                       " tables on " + std::to_string(problem.cluster.devices) + " devices have " +
                       std::to_string(costs) + "; fewer tables or another algorithm would do");
}

}  // namespace

Result<SearchResult> shard_surco(const Problem& problem, PlanEvaluator& evaluator,
                                 const SearchOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(check_size(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_pieces(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_total_memory(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_finest_pieces(problem));
  if (StopCheck(options).cancelled()) return stopped_before_plan();
  return SurcoSearch(problem, evaluator, options, cut_pieces(problem, evaluator)).run();
}

}  // namespace neuroshard::search
