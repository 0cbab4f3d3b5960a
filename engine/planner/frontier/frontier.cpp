#include "engine/planner/frontier/frontier.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "engine/core/elapsed.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/shard_bytes.h"
#include "engine/core/step_memory.h"
#include "engine/planner/frontier/plan_archive.h"
#include "engine/planner/plan_for_file.h"

namespace neuroshard {
namespace {

/// What a point has to save, as a share, beside those of at most its devices and memory: two seeds
/// of a second each differ by more (see kWorthwhile of io/reports/sweep_report.h).
constexpr double kLeastSaving = 0.002;
/// Of what all tables take, spread evenly: with less, packing takes longer than searching.
constexpr double kTightest = 1.02;

class FrontierSearch final : public PlanSink {
 public:
  FrontierSearch(const Workload& workload, const Cluster& like, const CostModels& models,
                 const FrontierOptions& options)
      : workload_(workload),
        like_(like),
        models_(models),
        options_(options),
        limit_s_(options.search.time_limit_s),
        archive_(workload, like.buffers) {
    if (limit_s_ == 0 && options.search.evaluations == 0) limit_s_ = kFrontierSeconds;
    left_ = options.devices.size() * kFrontierSettings;
    settings_ = left_;
  }

  Result<Frontier> run() {
    std::vector<std::int32_t> counts = options_.devices;
    std::sort(counts.begin(), counts.end());
    Status last;
    for (const std::int32_t devices : counts) {
      const Status status = search(devices);
      if (interrupted()) break;
      if (status.ok()) continue;
      if (status.code() == StatusCode::kInvalidInput) return status;
      frontier_.refusals.push_back(std::to_string(devices) + " devices: " + status.message());
      last = status;
    }
    frontier_.interrupted = interrupted();
    NEUROSHARD_RETURN_IF_ERROR(take_points());
    if (frontier_.points.empty() && frontier_.interrupted) {
      return cancelled("interrupted, no plan made");
    }
    if (frontier_.points.empty()) return last;
    return std::move(frontier_);
  }

  /// Of walks. What the file has no place for must not take the place of what it has. Costing a
  /// plan as the file holds it takes as long as thousands of a walk's steps, so only those are that
  /// may be of use.
  void offer(const Plan& plan, double cost_ms) override {
    if (options_.file == nullptr) return archive_.offer(plan, cost_ms);
    const std::vector<std::int64_t> bytes = device_bytes(workload_, plan, like_.buffers);
    const ArchivedPlan* const other =
        archive_.within(plan.devices, *std::max_element(bytes.begin(), bytes.end()));
    if (other != nullptr && other->cost_ms <= cost_ms) return;
    std::optional<Plan> written =
        offered_as_written(*options_.file, workload_, options_.search.trainer, plan);
    if (!written) return;
    PlanResult result;
    result.plan = *std::move(written);
    Result<PlanCost> cost = simulate(workload_, result.plan, models_, like_);
    if (!cost.ok()) return;
    result.cost = *std::move(cost);
    if (refusal(result).ok()) archive_.offer(result.plan, result.cost.cost_ms);
  }

 private:
  [[nodiscard]] bool interrupted() const {
    return options_.search.cancel != nullptr && options_.search.cancel->cancelled();
  }
  [[nodiscard]] double seconds_left() const { return limit_s_ - seconds_since(began_); }

  /// Whatever plans there are on so many devices.
  Status search(std::int32_t devices) {
    const std::size_t after = left_ - kFrontierSettings;
    const std::int64_t most = like_.memory_bytes;
    const Status first = plan_within(devices, most);
    const ArchivedPlan* cheapest = archive_.within(devices, most);
    if (!first.ok() || cheapest == nullptr) {
      left_ = after;
      return first;
    }
    // Limits that are equal shares of each other, from what that plan takes to what all tables do.
    Cluster cluster = like_;
    cluster.devices = devices;
    const double all =
        static_cast<double>(workload_bytes(workload_, step_memory(workload_, cluster)));
    const double tightest = kTightest * all / devices;
    const double widest = static_cast<double>(cheapest->memory_bytes);
    const double share = std::pow(std::min(1.0, tightest / widest), 1.0 / (kFrontierSettings - 1));
    double limit = widest;
    for (std::size_t k = 1; k < kFrontierSettings && !over(); ++k) {
      limit *= share;
      const auto bytes = static_cast<std::int64_t>(std::min(limit, widest - 1));
      if (bytes < 1) break;
      const Status status = plan_within(devices, bytes);
      if (interrupted()) return {};
      if (status.code() == StatusCode::kInvalidInput) return status;
      if (!status.ok()) break;  // nor in less
    }
    left_ = after;
    return {};
  }

  [[nodiscard]] bool over() const { return limit_s_ > 0 && seconds_left() <= 0; }

  Status plan_within(std::int32_t devices, std::int64_t memory_bytes) {
    if (options_.next) options_.next(settings_ - left_ + 1, settings_);
    Cluster cluster = like_;
    cluster.devices = devices;
    cluster.memory_bytes = memory_bytes;
    PlanOptions own = options_.search;
    own.plans = this;
    own.advise = memory_bytes == like_.memory_bytes;
    if (limit_s_ > 0) {
      own.time_limit_s =
          std::max(1e-3, seconds_left() / static_cast<double>(std::max<std::size_t>(1, left_)));
    }
    if (left_ > 0) --left_;
    const Result<PlanResult> found =
        options_.file == nullptr ? make_plan(workload_, cluster, models_, own)
                                 : make_plan_for(*options_.file, workload_, cluster, models_, own);
    if (!found.ok()) {
      frontier_.stopped_early |= found.status().code() == StatusCode::kCancelled;
      return found.status();
    }
    frontier_.stopped_early |= found->stopped_early;
    if (const Status refused = refusal(*found); !refused.ok()) return infeasible(refused.message());
    archive_.keep(found->plan, found->cost.cost_ms);
    return {};
  }

  [[nodiscard]] Status refusal(const PlanResult& plan) const {
    return options_.file == nullptr ? Status() : options_.file->refusal(plan);
  }

  /// Those of the archive, costed as plan files are, that save something.
  Status take_points() {
    std::vector<FrontierPoint> points;
    for (ArchivedPlan& archived : archive_.plans()) {
      canonicalize(archived.plan);
      FrontierPoint point;
      NEUROSHARD_ASSIGN_OR_RETURN(point.result.cost,
                                  simulate(workload_, archived.plan, models_, like_));
      point.result.plan = std::move(archived.plan);
      point.result.algorithm = options_.search.algorithm;
      point.memory_bytes = archived.memory_bytes;
      points.push_back(std::move(point));
    }
    std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.result.plan.devices, a.memory_bytes, a.result.cost.cost_ms) <
             std::tuple(b.result.plan.devices, b.memory_bytes, b.result.cost.cost_ms);
    });
    for (std::size_t index = 0; index < points.size(); ++index) {
      if (saves(points, index)) frontier_.points.push_back(std::move(points[index]));
    }
    return {};
  }

  /// Beside those that stay; the cheapest on so many devices need not save as much.
  [[nodiscard]] bool saves(const std::vector<FrontierPoint>& points, std::size_t index) const {
    const FrontierPoint& own = points[index];
    double least_cost = std::numeric_limits<double>::infinity();
    for (const FrontierPoint& other : frontier_.points) {
      if (other.memory_bytes <= own.memory_bytes) {
        least_cost = std::min(least_cost, other.result.cost.cost_ms);
      }
    }
    bool cheapest = true;
    for (std::size_t k = index + 1; k < points.size(); ++k) {
      if (points[k].result.plan.devices != own.result.plan.devices) break;
      cheapest &= points[k].result.cost.cost_ms > own.result.cost.cost_ms;
    }
    return own.result.cost.cost_ms < least_cost * (cheapest ? 1 : 1 - kLeastSaving);
  }

  const Workload& workload_;
  const Cluster like_;
  const CostModels& models_;
  const FrontierOptions& options_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  double limit_s_;  // 0: none
  PlanArchive archive_;
  std::size_t settings_ = 0;
  std::size_t left_ = 0;  // settings
  Frontier frontier_;
};

bool within(const FrontierPoint& point, const FrontierLimits& limits) {
  return (!limits.cost_ms || point.result.cost.cost_ms <= *limits.cost_ms) &&
         (!limits.memory_bytes || point.memory_bytes <= *limits.memory_bytes) &&
         (!limits.devices || point.result.plan.devices <= *limits.devices);
}

}  // namespace

Result<Frontier> find_frontier(const Workload& workload, const Cluster& like,
                               const CostModels& models, const FrontierOptions& options) {
  return FrontierSearch(workload, like, models, options).run();
}

const FrontierPoint* least(std::span<const FrontierPoint> points, LeastOf what,
                           const FrontierLimits& limits) {
  const auto key = [what](const FrontierPoint& point) {
    const double cost = point.result.cost.cost_ms;
    const auto devices = static_cast<double>(point.result.plan.devices);
    const double first = what == LeastOf::kTime     ? cost
                         : what == LeastOf::kMemory ? static_cast<double>(point.memory_bytes)
                                                    : devices;
    return std::tuple(first, cost, devices);
  };
  const FrontierPoint* best = nullptr;
  for (const FrontierPoint& point : points) {
    if (within(point, limits) && (best == nullptr || key(point) < key(*best))) best = &point;
  }
  return best;
}

}  // namespace neuroshard
