#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/commands/baselines.h"
#include "apps/commands/plan_report.h"
#include "apps/commands/report_facts.h"
#include "apps/commands/written_plan.h"
#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/progress_bar.h"
#include "apps/console/words.h"
#include "apps/flags/common_flags.h"
#include "apps/flags/dense_model_flags.h"
#include "apps/flags/exchange_flag.h"
#include "apps/flags/export_flags.h"
#include "apps/flags/host_flags.h"
#include "apps/flags/policy_flags.h"
#include "apps/flags/search_flags.h"
#include "apps/interrupt.h"
#include "apps/make_commands.h"
#include "engine/core/algorithm_name.h"
#include "engine/core/offload.h"
#include "engine/core/shard_bytes.h"
#include "engine/core/step_memory.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/plan_error.h"
#include "engine/planner/exchange/exchange_choice.h"
#include "engine/planner/plan_for_file.h"
#include "engine/planner/planner.h"
#include "engine/planner/robust/robust_plan.h"
#include "io/file.h"
#include "io/formats/plan_export.h"
#include "io/plans/plan_file.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

class PlanCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags.text("tables", "FILE", "tables to place; - = stdin", &tables_).required().reads();
    declare_devices(flags, &cluster_.devices);
    declare_device_memory(flags, &cluster_.memory_bytes);
    declare_host_memory(flags, &cluster_.host_memory_bytes);
    declare_buffers(flags, &buffers_);
    declare_batch_size(flags, &batch_size_);
    declare_cost_model(flags, &cost_model_);
    flags.list("robust", "MODEL,MODEL,..",
               "instead of --cost-model: a plan that is nearly best by each of these cost models, "
               "with the smallest largest regret; limits are those of a search under each",
               &robust_);
    const std::vector<std::string> algorithms = all_algorithm_names();
    flags.choice("algorithm", "NAME",
                 "one of " + join(algorithms, ", ") +
                     "; where --format has no place for the default's plan, the cheapest of the "
                     "baselines' that it has one for",
                 &search_.options.algorithm, algorithms);
    policy_.declare(flags);
    declare_search(flags, &search_,
                   "no more than --target or --format takes: even for torchrec and hugectr; ");
    flags
        .text("output", "FILE", "write the plan to a file; - = to stdout, and nothing else there",
              &output_)
        .writes();
    declare_export_flags(flags, &export_, "");
    declare_bandwidths(flags, &bandwidths_);
    declare_exchange(flags, &exchange_, "; limits are then those of each of two searches");
    dense_.declare(flags);
  }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_RETURN_IF_ERROR(check_export_flags(export_, output_.has_value()));
    NEUROSHARD_RETURN_IF_ERROR(check_target());
    NEUROSHARD_RETURN_IF_ERROR(read_exchange());
    NEUROSHARD_RETURN_IF_ERROR(
        policy_.apply(flags, {&search_.options.algorithm, 1}, &search_.options));
    NEUROSHARD_ASSIGN_OR_RETURN(LoadedWorkload loaded, load_workload(tables_, batch_size_));
    cluster_.buffers = buffers_of(buffers_);
    const std::int32_t per_host = export_.options.devices_per_host;
    cluster_.devices_per_host = per_host;
    NEUROSHARD_RETURN_IF_ERROR(load_all_models(flags, {per_host}));
    const NamedCostModels& models = models_.front();
    for (const NamedCostModels& one : models_) {
      NEUROSHARD_RETURN_IF_ERROR(check_batch(one.models, loaded, tables_, batch_size_));
    }
    note_if_any(loaded.batch_note);
    export_.options.table_modules = loaded.modules;
    if (output_ || search_.target) {
      NEUROSHARD_RETURN_IF_ERROR(Hosts{per_host}.check(cluster_.devices));
      NEUROSHARD_RETURN_IF_ERROR(io::check_exportable(trainer(), loaded.workload, cluster_.devices,
                                                      export_.options, cluster_.exchange));
      keep_to_written_exchange(loaded.workload);
    }
    settle(&search_);
    note_unused_flags(flags, export_.format);
    const bool kept = output_ && export_.format == io::kNativeFormat;
    note_unknown_hosts(flags, models,
                       kept ? "placements of later exports" : changed_by_hosts(export_.format));
    if (per_host == 0) note_usual_hosts(export_.format, cluster_.devices);
    note_unknown_bandwidths(flags, models);
    search_.options.trainer = rules();
    limit_host_memory(flags, models, host_memory_fault(), &cluster_);
    note_search_flags(flags, search_, {&search_.options.algorithm, 1}, models, export_.format);
    if (search_.options.hot_rows && !robust_.empty()) {
      print_note("--hot-rows on: changes nothing with --robust");
    }
    const auto tables = static_cast<std::int64_t>(loaded.workload.tables.size());
    policy_.note_other_training(models, cluster_.devices, tables, tables);
    const PlanFile file = file_for(loaded, models);
    NEUROSHARD_ASSIGN_OR_RETURN(PlanResult best, search(file, loaded.workload, models.models));
    if (!best.hot_rows_refused.empty()) {
      print_note("--hot-rows on: " + trainer() + " does not run the plan found (" +
                 best.hot_rows_refused + "), this one is without");
    }
    find_bound(loaded.workload, models.models, best);
    std::vector<ComparedPlan> others;
    Result<std::string> text = written(loaded, models, best);
    if (text.status().code() == StatusCode::kInvalidInput && robust_.empty()) {
      if (flags.given("algorithm")) return with_way_out(text.status());
      const std::string wanted = best.algorithm;
      NEUROSHARD_ASSIGN_OR_RETURN(PlanInstead instead,
                                  plan_instead(file, loaded.workload, cluster_, models.models,
                                               search_.options, best, text.status()));
      best = std::move(instead.plan);
      find_bound(loaded.workload, models.models, best);
      others = std::move(instead.others);
      note_instead(wanted, text.status(), best);
      text = written(loaded, models, best);
    }
    for (std::size_t k = 0; k < models_.size(); ++k) {
      const PlanCost& cost = robust_.empty() ? best.cost : found_.costs[k].cost;
      note_guesses(models_[k], {&cluster_.devices, 1}, loaded.workload, cost.per_device);
    }
    note_end_of_search(best);
    NEUROSHARD_RETURN_IF_ERROR(text.status());
    note_if_any(io::rows_as_run(export_.format, loaded.workload, best.plan));
    return hand_over(flags, loaded, models, best, *text, others);
  }

 private:
  /// The format whose trainer runs the plan: by its rules searches go.
  [[nodiscard]] const std::string& trainer() const {
    return search_.target ? *search_.target : export_.format;
  }

  /// Of the trainer and, where that does not read the file, what the file has a place for.
  [[nodiscard]] TrainerRules rules() const {
    if (trainer() == export_.format) return io::trainer_rules(trainer(), export_.options);
    TrainerRules rules = io::target_rules(trainer(), export_.options);
    rules.hot_rows &= io::trainer_rules(export_.format, {}).hot_rows;
    return rules;
  }

  /// A trainer's file is for no other one.
  [[nodiscard]] Status check_target() const {
    if (!search_.target || !io::is_for_trainers(export_.format) ||
        io::trainer_rules(export_.format, {}) == io::trainer_rules(*search_.target, {})) {
      return {};
    }
    return invalid_input("--target: found '" + *search_.target + "' with --format " +
                         export_.format + ", expected the trainer that reads it, or json");
  }

  Status read_exchange() {
    NEUROSHARD_ASSIGN_OR_RETURN(const ExchangeAsked asked, exchange_of(exchange_));
    if (asked.any && !robust_.empty()) {
      return invalid_input("--exchange: found 'auto' with --robust, expected a format");
    }
    cluster_.exchange = asked.format;
    any_exchange_ = asked.any;
    return {};
  }

  /// Where the file has a place for fp32 alone, nothing else is looked for.
  void keep_to_written_exchange(const Workload& workload) {
    constexpr ExchangeFormat kOther{Precision::kFp16, Precision::kFp16};
    if (!any_exchange_ ||
        io::check_exportable(trainer(), workload, cluster_.devices, export_.options, kOther).ok()) {
      return;
    }
    any_exchange_ = false;
    print_note("--exchange: fp32, " + trainer() + " has no place for others");
  }

  /// Those of --robust, or the one of --cost-model.
  Status load_all_models(const FlagSet& flags, const Hosts& hosts) {
    std::vector<std::string> names = robust_;
    if (names.empty()) names.push_back(cost_model_);
    if (!robust_.empty() && flags.given("cost-model")) {
      return invalid_input("--robust: found with --cost-model, expected one of the two");
    }
    if (names.size() == 1 && !robust_.empty()) {
      return invalid_input("--robust: found one cost model, expected at least 2");
    }
    for (const std::string& name : names) {
      if (std::count(names.begin(), names.end(), name) > 1) {
        return invalid_input("--robust: found '" + io::printable(name) +
                             "' twice, expected it once");
      }
      NEUROSHARD_ASSIGN_OR_RETURN(
          NamedCostModels models,
          load_models_for_hosts(name, hosts, cluster_.devices, bandwidths_));
      models_.push_back(std::move(models));
    }
    return dense_.apply(models_);
  }

  /// The file, and for people a report with `others` or, where there are none yet, the baselines.
  /// A plan stands in its file before it is held against them; an html page shows them.
  Status hand_over(const FlagSet& flags, const LoadedWorkload& loaded,
                   const NamedCostModels& models, const PlanResult& best, std::string& text,
                   std::vector<ComparedPlan>& others) {
    const bool shows_others = export_.shows_costs();
    if (output_ && !shows_others) {
      NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, text));
      if (output_ == "-") return {};
    }
    if (others.empty() && robust_.empty()) {
      others = baselines_if_possible(loaded.workload, models.models, best);
    }
    if (output_ && shows_others) {
      io::PlanDocument document;
      document.plan = best.plan;
      document.buffers = cluster_.buffers;
      document.exchange = cluster_.exchange;
      document.cost = best.cost;
      export_.options.memory_limit = cluster_.memory_bytes;
      NEUROSHARD_RETURN_IF_ERROR(add_report(flags, "plan", loaded.workload, document,
                                            cluster_.devices_per_host, models, export_));
      NEUROSHARD_ASSIGN_OR_RETURN(text, plan_text(loaded, models, best, others));
      NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, text));
      if (output_ == "-") return {};
    }
    return report(loaded.workload, models, best, others);
  }

  Result<PlanResult> search(const PlanFile& file, const Workload& workload,
                            const CostModels& models) {
    ProgressBar progress;
    PlanOptions options = search_.options;
    options.progress = &progress;
    const ClusterSearch one = [&](const Cluster& cluster) {
      return make_plan_for(file, workload, cluster, models, options);
    };
    Result<PlanResult> best = !robust_.empty() ? search_robust(file, workload, options)
                              : any_exchange_ ? search_any_exchange(workload, models, one, cluster_)
                                              : one(cluster_);
    if (best.status().code() == StatusCode::kInfeasible) {
      return infeasible(best.status().message() + flags_that_help(workload, models, best.status()));
    }
    return best;
  }

  Result<PlanResult> search_robust(const PlanFile& file, const Workload& workload,
                                   const PlanOptions& options) {
    std::vector<const CostModels*> models;
    for (const NamedCostModels& one : models_) models.push_back(&one.models);
    NEUROSHARD_ASSIGN_OR_RETURN(found_,
                                make_robust_plan(file, workload, cluster_, models, options));
    return found_.plan;
  }

  /// What is told of a workload that has no plan beside what the engine says; "" for nothing.
  [[nodiscard]] std::string flags_that_help(const Workload& workload, const CostModels& models,
                                            const Status& refused) const {
    const std::string replicas =
        flags_for_replicas(search_.options, workload, cluster_.devices, models);
    if (!replicas.empty()) return replicas;
    const bool of_memory = refused.message().find(" of memory per device") != std::string::npos;
    const bool more = cluster_.host_memory_bytes == 0 && host_memory_fault().empty();
    if (of_memory && more && memory_is_short(workload) && capabilities(models).host_memory) {
      return "; with --host-memory, what does not fit goes there";
    }
    return "";
  }

  /// Where it is not, something else is to blame for there being no plan.
  [[nodiscard]] bool memory_is_short(const Workload& workload) const {
    const auto memory = static_cast<double>(cluster_.memory_bytes);
    const StepMemory step = step_memory(workload, cluster_);
    const bool large = std::any_of(
        workload.tables.begin(), workload.tables.end(),
        [&](const Table& table) { return static_cast<double>(table_bytes(table, step)) > memory; });
    const auto all = static_cast<double>(workload_bytes(workload, step));
    return large || all > memory * cluster_.devices / 2;
  }

  /// What no plan costs less than. Where tables are in host memory, only the search itself knows.
  void find_bound(const Workload& workload, const CostModels& models, PlanResult& best) const {
    if (has_offloaded(best.plan)) return;
    best.lower_bound =
        bound_of(best.lower_bound, workload, cluster_, models, as_trainer_runs(search_.options));
  }

  void note_end_of_search(const PlanResult& best) const {
    const bool interrupted = cancel_token().cancelled();
    if (interrupted) print_note("interrupted: this is the best plan so far");
    if (!best.skipped.empty()) {
      print_note("the time limit left no room for " + best.skipped +
                 ", which may find better plans");
    }
    if (best.stopped_early && !interrupted && output_ == "-") print_note(ended_by_time());
  }

  /// To show beside a plan, which is what counts.
  [[nodiscard]] std::vector<ComparedPlan> baselines_if_possible(const Workload& workload,
                                                                const CostModels& models,
                                                                const PlanResult& best) const {
    const double limit = search_.options.time_limit_s;
    const double overrun = limit > 0 ? std::max(best.seconds - limit, 0.0) : 0;
    Result<std::vector<ComparedPlan>> others =
        compare_baselines(workload, cluster_, models, best.algorithm, overrun, search_.options);
    if (others.ok()) return std::move(*others);
    print_note("the plan is not compared with the baselines': " + others.status().message());
    return {};
  }

  /// The format has no place for the plan of the algorithm that was asked for.
  [[nodiscard]] Status with_way_out(const Status& refused) const {
    return invalid_input(refused.message() + "; without --algorithm, plan looks for one that " +
                         trainer() + " has a place for");
  }

  /// Nor for that of the default one.
  void note_instead(const std::string& wanted, const Status& refused,
                    const PlanResult& best) const {
    print_note(trainer() + " has no place for the plan of " + display_name(wanted) + " (" +
               refused.message() + "): this is that of " + display_name(best.algorithm) +
               ", the cheapest of the others that it has a place for");
  }

  PlanFile file_for(const LoadedWorkload& loaded, const NamedCostModels& models) {
    return {trainer(),
            [this](Plan plan) { return io::plan_as_written(trainer(), std::move(plan)); },
            [&loaded, &models, this](const PlanResult& result) {
              return written(loaded, models, result).status();
            }};
  }

  [[nodiscard]] std::string host_memory_fault() const {
    return io::host_memory_fault(trainer(), export_.options);
  }

  /// The file of a plan that the target's trainer runs, "" where none is asked for. kInvalidInput
  /// where the trainer's own format, or that of the file, has no place for the plan.
  Result<std::string> written(const LoadedWorkload& loaded, const NamedCostModels& models,
                              const PlanResult& best) {
    if (trainer() != export_.format) {
      NEUROSHARD_RETURN_IF_ERROR(io::check_as_written(trainer(), loaded.workload, best.plan));
      NEUROSHARD_RETURN_IF_ERROR(io::check_runs(
          trainer(), loaded.workload,
          document_of(loaded, cluster_, models, best, search_.options.seed), export_.options));
    }
    return output_ ? plan_text(loaded, models, best, {}) : std::string();
  }

  Result<std::string> plan_text(const LoadedWorkload& loaded, const NamedCostModels& models,
                                const PlanResult& best, const std::vector<ComparedPlan>& others) {
    NEUROSHARD_RETURN_IF_ERROR(io::check_as_written(trainer(), loaded.workload, best.plan));
    export_.options.baselines = baseline_costs(others);
    io::PlanDocument document;
    if (!found_.costs.empty()) document.by_models = costs_by_models(models_, found_);
    return text_of(export_, loaded, cluster_, models, best, search_.options.seed,
                   std::move(document));
  }

  Status report(const Workload& workload, const NamedCostModels& models, const PlanResult& best,
                const std::vector<ComparedPlan>& others) {
    const Console console = Console::of(STDOUT_FILENO);
    const PlanOptions run = as_trainer_runs(search_.options);
    std::string text = result_text(console, workload, cluster_, models, best);
    text += offloaded_text(workload, best.plan) + hot_rows_text(workload, best.plan) +
            exchange_text(cluster_.exchange);
    if (!robust_.empty()) {
      text += robust_text(console, models_, found_);
      if (best.stopped_early && !cancel_token().cancelled()) text += ended_by_time() + "\n";
      if (output_) text += "plan written to " + *output_ + "\n";
      return print(text);
    }
    text += bound_text(best.lower_bound, best.cost.cost_ms, cluster_, models.models, run);
    if (!has_offloaded(best.plan)) {
      text += data_parallel_text(best.lower_bound, workload, cluster_, models.models, run);
    }
    if (best.stopped_early && !cancel_token().cancelled()) text += ended_by_time() + "\n";
    text += baseline_report(console, others, best.cost.cost_ms, error_of(models.models, best.cost));
    if (output_) text += "plan written to " + *output_ + "\n";
    return print(text);
  }

  std::string tables_;
  Cluster cluster_;
  std::optional<std::int64_t> batch_size_;
  std::optional<std::string> buffers_;
  std::optional<std::string> exchange_;
  bool any_exchange_ = false;
  std::string cost_model_ = kDefaultCostModel;
  std::vector<std::string> robust_;
  std::vector<NamedCostModels> models_;  ///< the first one's costs are the plan's
  RobustPlan found_;                     ///< with --robust
  TorchRecBandwidths bandwidths_;
  std::optional<std::string> output_;
  ExportFlags export_;
  SearchFlags search_;
  PolicyFlags policy_;
  DenseModelFlags dense_;
};

}  // namespace

std::unique_ptr<Command> make_plan_command() { return std::make_unique<PlanCommand>(); }

}  // namespace neuroshard::apps
