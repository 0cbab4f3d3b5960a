#include "engine/planner/host_memory_search.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "engine/core/elapsed.h"
#include "engine/core/offload.h"
#include "engine/cost_model/capabilities.h"
#include "engine/planner/algorithms.h"
#include "engine/planner/device_search.h"
#include "engine/planner/offload/offload_search.h"
#include "engine/planner/search_budget.h"
#include "search/algorithms.h"
#include "search/equal_columns.h"
#include "search/feasibility.h"
#include "search/piece_sizes.h"
#include "search/refine/usual_limit.h"
#include "search/row_shapes.h"

namespace neuroshard {
namespace {

/// Of a time limit and of the evaluations, for all baselines, which begin when the search on the
/// devices has had its half; and of how many tables they are asked: of more, `refine` was not seen
/// to miss what they find.
constexpr double kBaselineShare = 0.1;
constexpr double kBeforeBaselines = 0.5;
// What has to be left for a baseline that puts costs on plans: it takes a thousand and more at
// once.
constexpr std::int64_t kLeastForPlans = 5000;
constexpr std::size_t kFewTables = 100;

class HostMemorySearch {
 public:
  HostMemorySearch(const HostMemoryProblem& problem, const search::Algorithm& algorithm,
                   const search::SearchOptions& options)
      : problem_(problem), algorithm_(algorithm), given_(options), evaluations_(0) {
    refines_ = algorithm.name == default_algorithm();
    if (refines_) given_ = search::with_usual_limit(given_);
    all_fused_ = all_may_be_fused(problem.problem.workload);
    both_ = !all_fused_ || (refines_ && (tight() || needs_rows()));
  }

  Result<search::SearchResult> run() {
    Status refusal;
    const std::int64_t all = given_.evaluations;
    const bool in_cycles = refines_ && both_;
    const std::vector<std::int64_t> ends = in_cycles ? ends_of_cycles(all) : std::vector{all};
    for (const std::int64_t end : ends) {
      if (best_ && out_of_time()) break;
      begin_cycle(end);
      refusal = run_cycle();
      spent_ += evaluations_.spent();
      if (!refusal.ok() && !there_is_none(refusal)) return refusal;
    }
    if (!best_) return refusal;
    best_->evaluations = spent_;
    best_->stopped_early = stopped_early_;
    // Those of either search know nothing of plans with some such tables here and others there.
    best_->lower_bound = all_fused_ ? bound_ : std::nullopt;
    return *std::move(best_);
  }

 private:
  void begin_cycle(std::int64_t end) {
    start_ = std::chrono::steady_clock::now();
    cycle_ = given_;
    cycle_.evaluations = end > 0 ? std::max<std::int64_t>(1, end - spent_) : 0;
    if (given_.time_limit_s > 0) cycle_.time_limit_s = std::max(kLeastSeconds, seconds_left());
    evaluations_ = Evaluations(cycle_.evaluations);
  }

  [[nodiscard]] double seconds_left() const { return given_.time_limit_s - seconds_since(began_); }

  /// Or stopped by the caller.
  bool out_of_time() {
    const bool out =
        asked_to_stop(given_.cancel) || (given_.time_limit_s > 0 && seconds_left() <= 0);
    stopped_early_ |= out;
    return out;
  }

  /// On the devices, then with tables in host memory, if they may be there.
  Status run_cycle() {
    search::SearchOptions own = both_ ? half_of(cycle_) : cycle_;
    own.advise = own.bound_within_memory = false;
    Result<search::SearchResult> fused =
        search_on_devices(problem_.problem, problem_.evaluator, algorithm_, own);
    stopped_early_ |= fused.status().code() == StatusCode::kCancelled;
    if (!fused.ok() && !may_go_on(fused.status())) return fused.status();
    found_on_devices_ = fused.ok();
    if (fused.ok()) {
      // A bound of tables on the devices holds for all plans where no other kernel is faster.
      if (!capabilities(problem_.models).fused_is_fastest) fused->lower_bound.reset();
      consider(*std::move(fused));
      if (!both_) return {};
    }
    NEUROSHARD_RETURN_IF_ERROR(check_pieces());
    NEUROSHARD_RETURN_IF_ERROR(check_offloaded_bytes(problem_.problem.workload));
    NEUROSHARD_RETURN_IF_ERROR(ask_baselines());
    NEUROSHARD_RETURN_IF_ERROR(consider_if_any(offload(algorithm_, rest())));
    if (best_) return {};
    return blames_devices(fused.status()) ? fused.status() : last_refusal_;
  }

  /// A table that cannot be divided as it has to be cannot be in the memory of hosts, either.
  [[nodiscard]] Status check_pieces() const {
    if (!algorithm_.splits_columns) return search::check_whole_tables(problem_.problem);
    const std::int32_t devices = problem_.problem.cluster.devices;
    return search::check_pieces(problem_.problem, algorithm_.makes_row_shards
                                                      ? search::row_shapes(given_, devices)
                                                      : search::RowShapes{});
  }

  [[nodiscard]] bool tight() const {
    const Cluster& cluster = problem_.problem.cluster;
    return static_cast<double>(search::bytes_of_all(problem_.problem.space)) >
           0.5 * static_cast<double>(cluster.memory_bytes) * cluster.devices;
  }

  /// Whether a table fits the devices by its rows alone: in host memory it may be cheaper.
  [[nodiscard]] bool needs_rows() const {
    const search::SearchSpace& space = problem_.problem.space;
    for (std::size_t table = 0; table < space.tables.size(); ++table) {
      const auto bytes = search::finest_column_bytes(space, static_cast<std::int32_t>(table));
      if (bytes > problem_.problem.cluster.memory_bytes) return true;
    }
    return false;
  }

  /// What is said of devices alone is what is to blame where they have room for all.
  [[nodiscard]] bool blames_devices(const Status& of_devices) const {
    return all_fused_ && !tight() && of_devices.code() == StatusCode::kInfeasible &&
           last_refusal_.code() == StatusCode::kInfeasible;
  }
  /// Time may have ended a search without a plan.
  [[nodiscard]] bool may_go_on(const Status& status) const {
    return there_is_none(status) && !asked_to_stop(given_.cancel);
  }

  /// Takes it where it is the cheapest so far.
  void consider(search::SearchResult found) {
    const double cost = problem_.evaluator.evaluate(found.plan).cost_ms;
    evaluations_.spend(found.evaluations);
    stopped_early_ |= found.stopped_early;
    bound_ = std::max(bound_, found.lower_bound);
    if (best_ && cost >= cost_) return;
    cost_ = cost;
    best_ = std::move(found);
  }

  /// The same of what may have no plan.
  Status consider_if_any(Result<search::SearchResult> found) {
    if (found.ok()) {
      consider(*std::move(found));
      return {};
    }
    last_refusal_ = found.status();
    stopped_early_ |= last_refusal_.code() == StatusCode::kCancelled;
    return there_is_none(last_refusal_) ? Status() : last_refusal_;
  }

  Result<search::SearchResult> offload(const search::Algorithm& algorithm,
                                       const search::SearchOptions& options) const {
    const search::Problem& problem = problem_.problem;
    Result<search::SearchResult> found =
        search_offloaded({problem, problem_.models}, problem_.evaluator, algorithm, options);
    if (!found.ok() || !search::has_equal_blocks(problem.space)) return found;
    std::optional<Plan> equal =
        search::laid_in_blocks(problem.space, problem.workload, found->plan);
    if (!equal)
      return infeasible("found no way to have the columns of all tables in blocks of one width");
    found->plan = *std::move(equal);
    return found;
  }

  Status ask_baselines() {
    if (!refines_ || problem_.problem.workload.tables.size() > kFewTables) return {};
    const auto start = std::chrono::steady_clock::now();
    for (const search::Algorithm& algorithm : search::algorithms()) {
      if (!algorithm.baseline) continue;
      if (evaluations_.over(kBeforeBaselines + kBaselineShare)) break;
      const bool few = evaluations_.limited() && evaluations_.share_of_rest(1) < kLeastForPlans;
      if (few && algorithm.splits_columns) continue;
      search::SearchOptions own = rest();
      own.progress = nullptr;
      own.evaluations = evaluations_.share_of_rest(kBaselineShare);
      if (cycle_.time_limit_s > 0) {
        own.time_limit_s = kBaselineShare * cycle_.time_limit_s - seconds_since(start);
        if (own.time_limit_s < kLeastSeconds) break;
      }
      NEUROSHARD_RETURN_IF_ERROR(consider_if_any(offload(algorithm, own)));
      if (asked_to_stop(given_.cancel)) break;
    }
    return {};
  }

  /// What a search on the devices has left: where it found that there is no plan, half of the time
  /// at least, as it may have taken more than its share.
  [[nodiscard]] search::SearchOptions rest() const {
    search::SearchOptions own = cycle_;
    own.evaluations = evaluations_.share_of_rest(1);
    const double limit = cycle_.time_limit_s;
    const double least = found_on_devices_ ? kLeastSeconds : limit / 2;
    if (limit > 0) own.time_limit_s = std::max(least, limit - seconds_since(start_));
    return own;
  }

  const HostMemoryProblem& problem_;
  const search::Algorithm& algorithm_;
  search::SearchOptions given_;
  bool refines_ = false;
  bool all_fused_ = true;
  bool both_ = false;  ///< tables are planned for in both memories, whatever fits the devices
  bool found_on_devices_ = false;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point start_;  ///< of the cycle
  search::SearchOptions cycle_;                  ///< what is given for it
  std::optional<search::SearchResult> best_;
  std::optional<double> bound_;  ///< the highest, of all plans
  double cost_ = 0;
  Status last_refusal_;
  Evaluations evaluations_;  ///< of the cycle
  std::int64_t spent_ = 0;   ///< before it
  bool stopped_early_ = false;
};

}  // namespace

Result<search::SearchResult> search_with_host_memory(const HostMemoryProblem& problem,
                                                     const search::Algorithm& algorithm,
                                                     const search::SearchOptions& options) {
  return HostMemorySearch(problem, algorithm, options).run();
}

}  // namespace neuroshard
