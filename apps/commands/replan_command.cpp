#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/commands/moved_shards.h"
#include "apps/commands/plan_input.h"
#include "apps/commands/plan_report.h"
#include "apps/commands/plan_setting.h"
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
#include "apps/flags/robust_flag.h"
#include "apps/flags/search_flags.h"
#include "apps/interrupt.h"
#include "apps/make_commands.h"
#include "engine/core/bytes.h"
#include "engine/core/offload.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/first_lacking.h"
#include "engine/cost_model/plan_error.h"
#include "engine/planner/exchange/exchange_choice.h"
#include "engine/planner/plan_for_file.h"
#include "engine/planner/planner.h"
#include "engine/planner/robust/robust_plan.h"
#include "io/formats/plan_export.h"
#include "io/plans/plan_file.h"

namespace neuroshard::apps {
namespace {

class ReplanCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    declare_plan_input(flags, &input_);
    declare_plan_memory(flags, &cluster_.memory_bytes);
    declare_buffers(flags, &buffers_).default_text("the plan's, or off");
    flags
        .bytes("host-memory",
               "memory of each host for the tables that the plan has there: no host gets more",
               &cluster_.host_memory_bytes)
        .default_text("the plan's, or not watched");
    flags
        .bytes(
            "move-limit",
            "the most bytes that may come to devices that do not hold them: weights and "
            "optimizer states; 0 = nothing moves but row shards of tables that have other rows now",
            &move_limit_, 0)
        .required();
    declare_cost_model(flags, &cost_model_).default_text(kPlansCostModel);
    robust_.declare(flags);
    declare_replanning(flags, &search_);
    flags
        .text("output", "FILE", "write the plan to a file; - = to stdout, and nothing else there",
              &output_)
        .writes("plan");
    declare_export_flags(flags, &export_, "the plan's, or ");
    declare_bandwidths(flags, &bandwidths_, true);
    declare_exchange(flags, &exchange_, "; limits are then those of each of two searches")
        .default_text("the plan's, or fp32");
    dense_.declare(flags);
  }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_RETURN_IF_ERROR(check_export_flags(export_, output_.has_value()));
    NEUROSHARD_RETURN_IF_ERROR(exchange_of(exchange_).status());
    settle(&search_);
    NEUROSHARD_ASSIGN_OR_RETURN(PlanAndTables input, load_plan_and_new_tables(input_));
    note_if_any(input.loaded.batch_note);
    NEUROSHARD_ASSIGN_OR_RETURN(
        io::PlanDocument document,
        bind_to_any(input, input_.devices, io::PlanAge::kOlder, io::row_deal(export_.format)));
    const GivenSetting given{.memory_bytes = cluster_.memory_bytes,
                             .host_memory_bytes = cluster_.host_memory_bytes,
                             .devices_per_host = export_.options.devices_per_host};
    NEUROSHARD_ASSIGN_OR_RETURN(cluster_.memory_bytes,
                                required_device_memory(cluster_.memory_bytes, input.plan));
    cluster_.host_memory_bytes = host_memory_of(cluster_.host_memory_bytes, input.plan);
    set_plan_buffers(buffers_, document);
    put_as_it_runs(input, document);
    document.by_models.clear();  // of the plan that runs
    const Workload& workload = input.loaded.workload;
    cluster_.devices = document.plan.devices;
    cluster_.buffers = document.buffers;
    cluster_.exchange = document.exchange;  // of the plan that runs
    NEUROSHARD_ASSIGN_OR_RETURN(const ExchangeAsked asked,
                                exchange_of(exchange_, document.exchange));
    NEUROSHARD_RETURN_IF_ERROR(robust_.check(asked));
    export_.options.table_modules = input.loaded.modules;
    if (output_) {
      NEUROSHARD_RETURN_IF_ERROR(Hosts{export_.options.devices_per_host}.check(cluster_.devices));
      NEUROSHARD_RETURN_IF_ERROR(io::check_exportable(export_.format, workload, cluster_.devices,
                                                      export_.options, asked.format));
    }
    const Hosts hosts = hosts_of(export_.options.devices_per_host, input, document);
    cluster_.devices_per_host = hosts.devices;
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<std::string> names, robust_.names(flags));
    NEUROSHARD_ASSIGN_OR_RETURN(
        std::vector<NamedCostModels> all,
        all_cost_models_of(flags, names, cost_model_, bandwidths_, hosts, input.plan, document));
    NEUROSHARD_RETURN_IF_ERROR(dense_.apply(all));
    const NamedCostModels& models = all.front();
    note_other_dense_model(input.plan, models);
    search_.options.trainer = io::trainer_rules(export_.format, export_.options);
    note_unused_flags(flags, export_.format);
    note_search_flags(flags, search_, {&search_.options.algorithm, 1}, all, export_.format);
    const NamedCostModels& with_hosts =
        first_knowing(&Capabilities::hosts, all, &NamedCostModels::models);
    note_unknown_hosts(flags, with_hosts, changed_by_hosts(export_.format));
    if (hosts.devices == 0) note_usual_hosts(export_.format, cluster_.devices);
    note_unknown_bandwidths(
        flags, first_knowing(&Capabilities::settable_bandwidths, all, &NamedCostModels::models));
    note_host_memory(flags, with_hosts.models, document.plan);
    NEUROSHARD_ASSIGN_OR_RETURN(
        document.cost,
        costs_of(input, with_missing_tables(workload, document.plan), models, cluster_));
    cluster_.exchange = asked.format;
    const PlanFile file = file_for(input, document, models);
    NEUROSHARD_ASSIGN_OR_RETURN(PlanResult best,
                                search(input, file, document.plan, all, asked.any));
    if (robust_.given()) document.by_models = costs_by_models(all, robust_plan_);
    note_setting(flags, given, models, input, document);
    if (cancel_token().cancelled()) print_note("interrupted: this is the best plan so far");
    if (!output_) return report(input, document, all, best);
    NEUROSHARD_RETURN_IF_ERROR(describe_for_report(flags, workload, models, document, best));
    NEUROSHARD_RETURN_IF_ERROR(write(input, file, document, models, best));
    return *output_ == "-" ? Status() : report(input, document, all, best);
  }

 private:
  /// A trainer runs what its format holds.
  void put_as_it_runs(const PlanAndTables& input, io::PlanDocument& document) const {
    if (!output_) return;
    Plan written = io::plan_as_written(export_.format, document.plan);
    canonicalize(document.plan);
    if (written == document.plan) return;
    document.plan = std::move(written);
    print_note(input.plan.source + ": " + export_.format +
               " has blocks of a table that are on one device joined: that is the plan that runs");
  }

  void note_host_memory(const FlagSet& flags, const CostModels& models, const Plan& plan) const {
    const bool several = capabilities(models).hosts && host_devices(cluster_) > 0;
    if (flags.given("host-memory") && !has_offloaded(plan)) {
      print_note("--host-memory: changes nothing, the plan has no tables there");
    } else if (cluster_.host_memory_bytes == 0 && has_offloaded(plan) && several) {
      print_note(
          "tables in host memory may go to other hosts: --host-memory keeps to what each has");
    }
  }

  PlanFile file_for(const PlanAndTables& input, const io::PlanDocument& now,
                    const NamedCostModels& models) {
    return {export_.format,
            [this](Plan plan) { return io::plan_as_written(export_.format, std::move(plan)); },
            [this, &input, &now, &models](const PlanResult& result) {
              return plan_text(input, now, models, result).status();
            }};
  }

  Result<std::string> plan_text(const PlanAndTables& input, const io::PlanDocument& now,
                                const NamedCostModels& models, const PlanResult& result) {
    return text_of(export_, input.loaded, cluster_, models, result, search_.options.seed, now);
  }

  void note_setting(const FlagSet& flags, GivenSetting given, const NamedCostModels& models,
                    const PlanAndTables& input, const io::PlanDocument& document) const {
    given.bandwidths = bandwidths_given(flags, models);
    given.exchange = exchange_given(exchange_, cluster_.exchange);
    note_contradictions(given, input.plan, document.places.devices_per_host);
  }

  /// What a report shows of the plan found.
  Status describe_for_report(const FlagSet& flags, const Workload& workload,
                             const NamedCostModels& models, const io::PlanDocument& now,
                             const PlanResult& best) {
    io::PlanDocument next = now;
    next.plan = best.plan;
    next.cost = best.cost;
    next.exchange = cluster_.exchange;
    export_.options.memory_limit = cluster_.memory_bytes;
    return add_report(flags, "replan", workload, next, cluster_.devices_per_host, models, export_);
  }

  Result<PlanResult> search(const PlanAndTables& input, const PlanFile& file, const Plan& now,
                            const std::vector<NamedCostModels>& all, bool any_exchange) {
    ProgressBar progress;
    PlanOptions options = search_.options;
    options.progress = &progress;
    const Workload& workload = input.loaded.workload;
    const CostModels& models = all.front().models;
    const MoveLimit limit{.bytes = move_limit_};
    const ClusterSearch one = [&](const Cluster& cluster) -> Result<PlanResult> {
      if (!robust_.given()) return replan_for(file, workload, cluster, models, now, limit, options);
      NEUROSHARD_ASSIGN_OR_RETURN(
          robust_plan_,
          make_robust_replan(file, workload, cluster, pointers_to(all), now, limit, options));
      return robust_plan_.plan;
    };
    Result<PlanResult> best =
        any_exchange ? search_any_exchange(workload, models, one, cluster_) : one(cluster_);
    return best.ok() ? std::move(best) : best.status().with_context(input.plan.source);
  }

  /// The plan in its format or, where that has no place for it, the one that runs.
  Status write(const PlanAndTables& input, const PlanFile& file, const io::PlanDocument& now,
               const NamedCostModels& models, PlanResult& best) {
    Result<std::string> text = plan_text(input, now, models, best);
    if (text.status().code() == StatusCode::kInvalidInput) {
      const Status refused = text.status();
      NEUROSHARD_ASSIGN_OR_RETURN(best, now_instead(file, input.loaded.workload, cluster_,
                                                    models.models, now.plan, best, refused));
      text = plan_text(input, now, models, best);
      print_note(export_.format + " has no place for the plan found (" + refused.message() +
                 "): this is the one that runs");
    }
    NEUROSHARD_RETURN_IF_ERROR(text.status());
    note_lost_places(input, now, export_.format);
    note_if_any(io::rows_as_run(export_.format, input.loaded.workload, best.plan));
    NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, *text));
    if (*output_ == "-" && best.stopped_early && !cancel_token().cancelled()) {
      print_note(ended_by_time());
    }
    return {};
  }

  /// What it brings to take the place of the plan that runs.
  [[nodiscard]] std::string change_text(const PlanAndTables& input, const io::PlanDocument& now,
                                        const CostModels& models, const PlanCost& cost) const {
    const std::string& source = input.plan.source;
    const auto missing = missing_tables(input.loaded.workload, now.plan);
    if (!missing.empty()) {
      return source + " lacks " + counted(std::ssize(missing), "table") + " that this plan has\n";
    }
    if (robust_plan_.running_regret) {
      return regret_gain_text(source, *robust_plan_.running_regret, robust_plan_.largest_regret());
    }
    if (could_stay(input.loaded.workload, now.plan, cluster_)) {
      return gain_text(source, now.cost.cost_ms, cost.cost_ms, error_of(models, cost));
    }
    return source + " costs " + milliseconds(now.cost.cost_ms, now.cost.cost_ms) +
           " ms, but takes more than " + format_bytes(cluster_.memory_bytes) + " per device\n";
  }

  [[nodiscard]] Status report(const PlanAndTables& input, const io::PlanDocument& now,
                              const std::vector<NamedCostModels>& all,
                              const PlanResult& best) const {
    const NamedCostModels& models = all.front();
    const Workload& workload = input.loaded.workload;
    const Console console = Console::of(STDOUT_FILENO);
    std::string text = result_text(console, workload, cluster_, models, best);
    text += exchange_text(cluster_.exchange);
    if (robust_.given()) text += robust_text(console, all, robust_plan_);
    if (best.stopped_early && !cancel_token().cancelled()) text += ended_by_time() + "\n";
    text += "\n" + change_text(input, now, models.models, best.cost) +
            moves_text(console, workload, now.plan, best.plan, move_limit_);
    if (output_) text += "plan written to " + *output_ + "\n";
    return print(text);
  }

  PlanInputFlags input_;
  Cluster cluster_;
  std::optional<std::string> buffers_;
  std::optional<std::string> exchange_;
  std::int64_t move_limit_ = 0;
  std::string cost_model_ = kDefaultCostModel;
  RobustFlag robust_;
  RobustPlan robust_plan_;  ///< with --robust; else empty
  TorchRecBandwidths bandwidths_;
  std::optional<std::string> output_;
  ExportFlags export_;
  SearchFlags search_;
  DenseModelFlags dense_;
};

}  // namespace

std::unique_ptr<Command> make_replan_command() { return std::make_unique<ReplanCommand>(); }

}  // namespace neuroshard::apps
