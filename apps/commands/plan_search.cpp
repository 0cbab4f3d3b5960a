#include "apps/commands/plan_search.h"

#include <algorithm>
#include <utility>

#include "apps/commands/baselines.h"
#include "apps/commands/plan_report.h"
#include "apps/commands/target_file.h"
#include "apps/commands/written_plan.h"
#include "apps/console/output.h"
#include "apps/console/progress_bar.h"
#include "apps/flags/robust_flag.h"
#include "apps/flags/search_flags.h"
#include "engine/core/algorithm_name.h"
#include "engine/core/exchange_format.h"
#include "engine/core/offload.h"
#include "engine/core/shard_bytes.h"
#include "engine/core/step_memory.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/first_lacking.h"
#include "engine/planner/exchange/exchange_choice.h"
#include "engine/planner/plan_for_file.h"
#include "io/formats/plan_export.h"

namespace neuroshard::apps {
namespace {

class PlanSearch {
 public:
  PlanSearch(const PlanInputs& inputs, PlanRequest& request)
      : inputs_(inputs),
        workload_(inputs.loaded.workload),
        models_(inputs.models.front().models),
        request_(request) {}

  Result<FoundPlan> run(bool algorithm_given) {
    const PlanFile file = file_of_plans();
    NEUROSHARD_ASSIGN_OR_RETURN(PlanResult best, search(file));
    note_refused_hot_rows(best);
    take(std::move(best));
    const Status refused = found_.text.status();
    if (refused.code() == StatusCode::kInvalidInput && !request_.robust()) {
      if (algorithm_given) return with_way_out(refused);
      NEUROSHARD_RETURN_IF_ERROR(take_another(file, refused));
    }
    return std::move(found_);
  }

 private:
  /// That of the format, by the rules of the trainer.
  [[nodiscard]] PlanFile file_of_plans() {
    return {request_.trainer(),
            [this](Plan plan) { return io::plan_as_written(request_.trainer(), std::move(plan)); },
            [this](const PlanResult& result) { return written(result).status(); }};
  }

  /// The file of a plan that the target's trainer runs, "" where none is asked for. kInvalidInput
  /// where the trainer's own format, or that of the file, has no place for the plan.
  Result<std::string> written(const PlanResult& best) {
    const std::string& trainer = request_.trainer();
    if (trainer != request_.exported.format) {
      NEUROSHARD_RETURN_IF_ERROR(check_target_runs(trainer, inputs_.loaded, request_.cluster,
                                                   inputs_.models.front(), best,
                                                   request_.exported.options));
    }
    if (!request_.output) return std::string();
    return plan_text(inputs_, best, found_.robust, {}, request_);
  }

  Result<PlanResult> search(const PlanFile& file) {
    ProgressBar progress;
    PlanOptions options = request_.search.options;
    options.progress = &progress;
    Cluster& cluster = request_.cluster;
    const ClusterSearch one = [&](const Cluster& tried) -> Result<PlanResult> {
      Result<PlanResult> found = make_plan_for(file, workload_, tried, models_, options);
      // In another format than fp32 there is a plan already, which may be the one to write.
      if (found.ok() && request_.any_exchange() && !is_exact(tried.exchange)) {
        NEUROSHARD_RETURN_IF_ERROR(file.refusal(*found));
      }
      return found;
    };
    Result<PlanResult> best = request_.robust() ? search_robust(file, options)
                              : request_.any_exchange()
                                  ? search_any_exchange(workload_, models_, one, cluster)
                                  : one(cluster);
    if (best.status().code() == StatusCode::kInfeasible) {
      return infeasible(best.status().message() + flags_that_help(file, best.status()));
    }
    return best;
  }

  Result<PlanResult> search_robust(const PlanFile& file, const PlanOptions& options) {
    NEUROSHARD_ASSIGN_OR_RETURN(
        found_.robust,
        make_robust_plan(file, workload_, request_.cluster, pointers_to(inputs_.models), options));
    return found_.robust.plan;
  }

  /// What is told of a workload that has no plan beside what the engine says; "" for nothing.
  [[nodiscard]] std::string flags_that_help(const PlanFile& file, const Status& refused) const {
    const Cluster& cluster = request_.cluster;
    const std::string replicas =
        flags_for_replicas(request_.search.options, workload_, cluster.devices, models_);
    if (!replicas.empty()) return replicas;
    const bool of_memory = refused.message().find(" of memory per device") != std::string::npos;
    const bool more = cluster.host_memory_bytes == 0 && request_.host_memory_fault().empty();
    if (of_memory && more && memory_is_short() && all_know_host_memory() &&
        fits_with_host_memory(file)) {
      return "; with --host-memory, what does not fit goes there";
    }
    return "";
  }

  /// Tables may be bound to devices, and step buffers stay there whatever hosts have. Of many
  /// tables a plan with such memory takes long: then it is taken to fit where there are none.
  [[nodiscard]] bool fits_with_host_memory(const PlanFile& file) const {
    constexpr std::size_t kMostTried = 1000;  // tables
    constexpr double kTriedSeconds = 0.3;
    Cluster cluster = request_.cluster;
    if (workload_.tables.size() > kMostTried) return cluster.buffers == StepBuffers::kOff;
    cluster.host_memory_bytes = 2 * workload_bytes(workload_, step_memory(workload_, cluster));
    PlanOptions options = request_.search.options;
    options.evaluations = 1;
    options.time_limit_s = kTriedSeconds;
    options.advise = false;
    return make_plan_for(file, workload_, cluster, models_, options).ok();
  }

  [[nodiscard]] bool all_know_host_memory() const {
    const NamedCostModels& least =
        first_lacking(&Capabilities::host_memory, inputs_.models, &NamedCostModels::models);
    return capabilities(least.models).host_memory;
  }

  /// Where it is not, something else is to blame for there being no plan.
  [[nodiscard]] bool memory_is_short() const {
    const auto memory = static_cast<double>(request_.cluster.memory_bytes);
    const StepMemory step = step_memory(workload_, request_.cluster);
    const bool large = std::any_of(
        workload_.tables.begin(), workload_.tables.end(),
        [&](const Table& table) { return static_cast<double>(table_bytes(table, step)) > memory; });
    const auto all = static_cast<double>(workload_bytes(workload_, step));
    return large || all > memory * request_.cluster.devices / 2;
  }

  /// The plan counts, with what no plan costs less than. Where tables are in host memory, only the
  /// search itself knows that.
  void take(PlanResult best) {
    if (!has_offloaded(best.plan)) {
      best.lower_bound = bound_of(best.lower_bound, workload_, request_.cluster, models_,
                                  as_trainer_runs(request_.search.options));
    }
    found_.text = written(best);
    found_.best = std::move(best);
  }

  /// Another algorithm's plan, in place of one that is refused.
  Status take_another(const PlanFile& file, const Status& refused) {
    const std::string wanted = found_.best.algorithm;
    NEUROSHARD_ASSIGN_OR_RETURN(PlanInstead instead,
                                plan_instead(file, workload_, request_.cluster, models_,
                                             request_.search.options, found_.best, refused));
    print_note(request_.trainer() + " has no place for the plan of " + display_name(wanted) + " (" +
               refused.message() + "): this is that of " + display_name(instead.plan.algorithm) +
               ", the cheapest of the others that it has a place for");
    take(std::move(instead.plan));
    found_.others = std::move(instead.others);
    return {};
  }

  void note_refused_hot_rows(const PlanResult& best) const {
    if (best.hot_rows_refused.empty()) return;
    print_note("--hot-rows on: " + request_.trainer() + " does not run the plan found (" +
               best.hot_rows_refused + "), this one is without");
  }

  /// The format has no place for the plan of the algorithm that was asked for.
  [[nodiscard]] Status with_way_out(const Status& refused) const {
    return invalid_input(refused.message() + "; without --algorithm, plan looks for one that " +
                         request_.trainer() + " has a place for");
  }

  const PlanInputs& inputs_;
  const Workload& workload_;
  const CostModels& models_;
  PlanRequest& request_;
  FoundPlan found_;
};

}  // namespace

Result<FoundPlan> search_plan(const FlagSet& flags, const PlanInputs& inputs,
                              PlanRequest& request) {
  return PlanSearch(inputs, request).run(flags.given("algorithm"));
}

Result<std::string> plan_text(const PlanInputs& inputs, const PlanResult& best,
                              const RobustPlan& robust, const std::vector<ComparedPlan>& others,
                              PlanRequest& request) {
  NEUROSHARD_RETURN_IF_ERROR(
      io::check_as_written(request.trainer(), inputs.loaded.workload, best.plan));
  request.exported.options.baselines = baseline_costs(others);
  io::PlanDocument document;
  if (!robust.costs.empty()) document.by_models = costs_by_models(inputs.models, robust);
  return text_of(request.exported, inputs.loaded, request.cluster, inputs.models.front(), best,
                 request.search.options.seed, std::move(document));
}

}  // namespace neuroshard::apps
