#include "engine/planner/offload/offload_search.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/cost_model/capabilities.h"
#include "engine/planner/algorithms.h"
#include "engine/planner/offload/choice_pace.h"
#include "engine/planner/offload/choose_kernels.h"
#include "engine/planner/offload/fitting_sink.h"
#include "engine/planner/offload/host_pins.h"
#include "engine/planner/offload/kernel_costs.h"
#include "engine/planner/offload/kernel_neighbours.h"
#include "engine/planner/offload/kernel_walk.h"
#include "engine/planner/offload/offload_bound.h"
#include "engine/planner/offload/offload_refusals.h"
#include "engine/planner/offload/settle_kernels.h"
#include "search/algorithms.h"

namespace neuroshard {
namespace {

/// Of the devices' memory, that a choice of kernels fills; pieces of tables seldom fill all of it.
constexpr std::array kShares{1.0, 0.995, 0.99, 0.98, 0.96, 0.93, 0.9, 0.85, 0.8, 0.7, 0.6, 0.45};
constexpr int kMostRepeats = 100;       // draws in a row that were tried: there are few others
constexpr std::size_t kMostKept = 100;  // candidates, but for better and better ones
constexpr std::size_t kWalks = 4;
constexpr double kInTurn = 0.5;  // of all steps
constexpr std::string_view kOtherChoices = "other choices of what the hosts hold";
constexpr double kNoPlan = std::numeric_limits<double>::infinity();

/// A choice, and the best plan that is known for it.
struct Candidate {
  OffloadChoice choice;
  search::SearchResult found;
  double cost = 0;  ///< of the plan with its own kernels, which are at least as good
};

bool has_rows_over_all(const search::SearchSpace& space) {
  return std::any_of(space.tables.begin(), space.tables.end(),
                     [](const search::TableSpace& table) { return table.rows_over_all; });
}

bool cheaper(const Candidate& a, const Candidate& b) { return a.cost < b.cost; }

class OffloadSearch {
 public:
  OffloadSearch(const OffloadProblem& problem, CostEvaluator& evaluator,
                const search::Algorithm& algorithm, const search::SearchOptions& options,
                const KernelCosts& costs)
      : workload_(problem.problem.workload),
        cluster_(problem.problem.cluster),
        evaluator_(evaluator),
        algorithm_(algorithm),
        given_(options),
        costs_(costs),
        pace_(options, algorithm.heeds_evaluations, costs.tables()) {
    const std::int32_t devices = cluster_.devices;
    const std::int32_t each = host_devices(cluster_);
    hosts_ = {each == 0 ? 1 : devices / each, each == 0 ? devices : each,
              cluster_.host_memory_bytes};
  }

  Result<search::SearchResult> run() {
    if (!choose_kernels(costs_, limits(1), Divided::kFreely)) {
      return too_little_memory(workload_, cluster_, hosts_);
    }
    NEUROSHARD_RETURN_IF_ERROR(try_choices());
    if (candidates_.empty() && tries_cut_short_) NEUROSHARD_RETURN_IF_ERROR(try_patiently());
    if (candidates_.empty()) {
      if (algorithm_.baseline && !last_refusal_.ok()) return last_refusal_;
      return no_way_to_share(workload_, cluster_, hosts_);
    }
    if (!algorithm_.baseline) NEUROSHARD_RETURN_IF_ERROR(try_neighbours());
    std::stable_sort(candidates_.begin(), candidates_.end(), cheaper);
    Candidate& best = candidates_.front();
    if (!algorithm_.baseline) NEUROSHARD_RETURN_IF_ERROR(search_further(best));
    if (algorithm_.name == default_algorithm()) walk();
    search::SearchResult result = std::move(best.found);
    result.evaluations = pace_.spent();
    result.stopped_early = stopped_early_;
    if (skipped_choices_) result.skipped = kOtherChoices;
    result.lower_bound = offload_lower_bound(costs_, evaluator_, limits(1),
                                             search::row_shapes(given_, cluster_.devices));
    return result;
  }

 private:
  [[nodiscard]] search::MemoryLimits limits(double share) const {
    const auto memory = static_cast<double>(cluster_.memory_bytes);
    return {share * memory * cluster_.devices,
            static_cast<double>(hosts_.memory_bytes) * hosts_.count};
  }

  /// The quick plans of all choices that get anywhere.
  Status try_choices() {
    for (const Divided divided : {Divided::kFreely, Divided::kByColumns, Divided::kNot}) {
      NEUROSHARD_RETURN_IF_ERROR(try_shares(divided));
    }
    return {};
  }

  /// Where memory is as tight with all choices, one that is packed may take more than its share.
  Status try_patiently() {
    patient_ = true;
    tried_.clear();
    return try_choices();
  }

  Status try_shares(Divided divided) {
    double least = kNoPlan;
    int worse = 0;
    for (const double share : kShares) {
      if (!candidates_.empty() && worse >= pace_.most_worse()) break;
      if (!candidates_.empty() && (pace_.out_of_evaluations() || out_of_time())) break;
      const std::optional<OffloadChoice> choice = choose_kernels(costs_, limits(share), divided);
      if (!choice) break;
      NEUROSHARD_ASSIGN_OR_RETURN(const double cost, attempt(*choice));
      if (cost < least) {
        least = cost;
        worse = 0;
      } else if (cost < kNoPlan) {
        ++worse;
      }
    }
    return {};
  }

  /// Choices like the best so far, which knows nothing of how pieces fill devices.
  Status try_neighbours() {
    KernelNeighbours neighbours(costs_, given_.seed);
    const auto best = std::min_element(candidates_.begin(), candidates_.end(), cheaper);
    OffloadChoice choice = best->choice;
    double least = best->cost;
    int repeats = 0;
    for (std::int64_t k = 0; pace_.another_neighbour(k); ++k) {
      const bool usual = k < pace_.usual_neighbours();
      if (pace_.out_of_evaluations()) break;
      if (usual ? out_of_time() : pace_.out_of_time() || repeats == kMostRepeats) break;
      pace_.tell_of_neighbours(k);
      const OffloadChoice next = neighbours.next(choice);
      stopped_early_ |= !usual && pace_.by_clock();
      repeats = tried_.contains(next) ? repeats + 1 : 0;
      NEUROSHARD_ASSIGN_OR_RETURN(const double cost, attempt(next));
      if (cost >= least) continue;
      least = cost;
      choice = next;
    }
    return {};
  }

  /// Before all is tried that is in any case.
  bool out_of_time() {
    if (!pace_.out_of_time()) return false;
    skipped_choices_ |= !pace_.cancelled();
    return true;
  }

  /// What a quick plan of that choice costs; infinity where there is none, or was before.
  Result<double> attempt(const OffloadChoice& choice) {
    if (!tried_.insert(choice).second) return kNoPlan;
    Result<Candidate> found = search(choice, quick_algorithm(), pace_.of_try(patient_));
    if (found.ok()) return keep(std::move(*found));
    const StatusCode code = found.status().code();
    // A search may also call it a day when time ends before it has a plan.
    if (code == StatusCode::kCancelled && !(pace_.cancelled() && candidates_.empty())) {
      tries_cut_short_ = stopped_early_ = true;
      return kNoPlan;
    }
    if (code != StatusCode::kInfeasible) return found.status();
    if (last_refusal_.ok()) last_refusal_ = found.status();
    return kNoPlan;
  }

  /// Its cost.
  double keep(Candidate candidate) {
    const double cost = candidate.cost;
    const bool cheapest = std::all_of(candidates_.begin(), candidates_.end(),
                                      [&](const Candidate& one) { return cost < one.cost; });
    if (cheapest || candidates_.size() < kMostKept) candidates_.push_back(std::move(candidate));
    return cost;
  }

  /// The algorithm itself with the best kernels that it finds a plan for.
  Status search_further(Candidate& best) {
    const bool quick_counts = algorithm_.name == default_algorithm();
    if (quick_counts && pace_.spent_all()) return {};
    Status refusal;
    for (const Candidate& candidate : candidates_) {
      Result<Candidate> found = search(candidate.choice, algorithm_, pace_.of_rest(quick_counts));
      if (found.ok()) {
        if (found->cost < best.cost || !quick_counts) best = std::move(*found);
        return {};
      }
      refusal = found.status();
      if (refusal.code() != StatusCode::kInfeasible) break;
    }
    const StatusCode code = refusal.code();
    const bool no_more = code == StatusCode::kInfeasible || code == StatusCode::kCancelled;
    return quick_counts && no_more ? Status() : refusal;
  }

  KernelWalk walk_from(const Candidate& candidate) {
    std::vector<TableKernel> kernels;
    for (std::size_t table = 0; table < costs_.tables(); ++table) {
      kernels.push_back(costs_.kernel_of(table, candidate.choice.kernels[table]));
    }
    return {costs_, hosts_, candidate.found.plan, std::move(kernels), given_.seed};
  }

  /// Walks on from the best plans in turn, then from the one that has become the cheapest.
  void walk() {
    std::vector<KernelWalk> walks;
    for (std::size_t k = 0; k < candidates_.size() && walks.size() < kWalks; ++k) {
      const bool again = k > 0 && candidates_[k].cost == candidates_[k - 1].cost;
      if (!again) walks.push_back(walk_from(candidates_[k]));
    }
    const auto cheapest = [&] {
      return std::min_element(walks.begin(), walks.end(), [](const auto& a, const auto& b) {
        return a.cost_ms() < b.cost_ms();
      });
    };
    const double began = pace_.passed();
    std::size_t steps = 0;
    for (double done = 0; (done = pace_.walked(steps, began)) < 1; ++steps) {
      (done < kInTurn ? walks[steps % walks.size()] : *cheapest()).step();
      pace_.tell_of_walk(steps);
    }
    stopped_early_ |= pace_.cut_short(steps);
    pace_.spend(static_cast<std::int64_t>(steps));
    Plan plan = cheapest()->plan();
    Candidate& best = candidates_.front();
    if (evaluator_.evaluate(plan).cost_ms < best.cost) best.found.plan = std::move(plan);
  }

  /// A plan with those kernels within all limits, and better kernels where it has memory for them.
  Result<Candidate> search(const OffloadChoice& choice, const search::Algorithm& algorithm,
                           const search::SearchOptions& own) {
    NEUROSHARD_ASSIGN_OR_RETURN(search::SearchResult found,
                                within_hosts(costs_.with_kernels(choice), algorithm, own));
    settle_kernels(costs_, found.plan);
    const double cost = evaluator_.evaluate(found.plan).cost_ms;
    return Candidate{choice, std::move(found), cost};
  }

  /// A plan that hosts have the memory for: as it comes, or with tables kept to hosts.
  Result<search::SearchResult> within_hosts(const search::SearchSpace& space,
                                            const search::Algorithm& algorithm,
                                            const search::SearchOptions& own) {
    Result<search::SearchResult> found = place(space, algorithm, own);
    if (!found.ok() || fits_hosts(workload_, hosts_, found->plan)) return found;
    Status refusal = no_arrangement_over_hosts(hosts_);
    for (const SharedBy shared : {SharedBy::kAnyParts, SharedBy::kRows}) {
      search::SearchSpace pinned = space;
      if (!pin_to_hosts(hosts_, shared, pinned)) break;
      if (shared == SharedBy::kRows && !has_rows_over_all(pinned)) break;  // searched already
      found = place(pinned, algorithm, own);
      if (found.ok() && fits_hosts(workload_, hosts_, found->plan)) return found;
      if (!found.ok()) refusal = found.status();
      if (refusal.code() != StatusCode::kInfeasible) break;  // time, or the caller, ended it
    }
    return refusal;
  }

  Result<search::SearchResult> place(const search::SearchSpace& space,
                                     const search::Algorithm& algorithm,
                                     const search::SearchOptions& own) {
    search::SearchOptions shown = own;
    std::optional<FittingSink> fitting;
    if (own.plans != nullptr) shown.plans = &fitting.emplace(workload_, hosts_, *own.plans);
    Result<search::SearchResult> found =
        algorithm.run({workload_, cluster_, space}, evaluator_, shown);
    if (!found.ok()) return found.status();
    canonicalize(found->plan);
    pace_.spend(found->evaluations + 1);  // and its kernels settled
    stopped_early_ |= found->stopped_early;
    return found;
  }

  /// What ends by itself and asks no policy is quick itself; what others are run on, refine finds
  /// out.
  [[nodiscard]] const search::Algorithm& quick_algorithm() const {
    const bool quick = !algorithm_.heeds_evaluations && !algorithm_.heeds_policy;
    return quick ? algorithm_ : *search::find_algorithm(default_algorithm());
  }

  const Workload& workload_;
  const Cluster& cluster_;
  CostEvaluator& evaluator_;
  const search::Algorithm& algorithm_;
  const search::SearchOptions& given_;
  const KernelCosts& costs_;
  ChoicePace pace_;
  Hosts hosts_;
  std::set<OffloadChoice> tried_;
  std::vector<Candidate> candidates_;
  Status last_refusal_;
  bool stopped_early_ = false;
  bool patient_ = false;          ///< tries have all the time that is left
  bool tries_cut_short_ = false;  ///< by time, without a plan
  bool skipped_choices_ = false;  ///< for want of time
};

}  // namespace

Result<search::SearchResult> search_offloaded(const OffloadProblem& problem,
                                              CostEvaluator& evaluator,
                                              const search::Algorithm& algorithm,
                                              const search::SearchOptions& options) {
  const std::int32_t devices = problem.problem.cluster.devices;
  const DivisionRules rules{algorithm.splits_columns, algorithm.makes_row_shards
                                                          ? search::row_shapes(options, devices)
                                                          : search::RowShapes{}};
  const KernelCosts costs(problem.problem, problem.models, rules);
  return OffloadSearch(problem, evaluator, algorithm, options, costs).run();
}

}  // namespace neuroshard
