#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "apps/common_flags.h"
#include "apps/console.h"
#include "apps/interrupt.h"
#include "apps/make_commands.h"
#include "apps/output.h"
#include "apps/plan_report.h"
#include "apps/progress_bar.h"
#include "apps/text_table.h"
#include "apps/words.h"
#include "engine/core/bytes.h"
#include "engine/core/version.h"
#include "engine/planner.h"
#include "io/plan_file.h"

namespace neuroshard::apps {
namespace {

constexpr double kBaselineSeconds = 1;  // a baseline gets at least
const std::string kEndedByTime =
    "time ended the search, the next run may find another plan: --evaluations makes it repeatable";

class PlanCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags
        .text("tables", "FILE",
              "tables to place, neuroshard-tables or table_configs.json; - = stdin", &tables_)
        .required();
    declare_devices(flags, &cluster_.devices);
    declare_device_memory(flags, &cluster_.memory_bytes);
    declare_batch_size(flags, &batch_size_);
    declare_cost_model(flags, &cost_model_);
    flags.choice("algorithm", "NAME", "one of " + join(algorithm_names(), ", "),
                 &options_.algorithm, algorithm_names());
    declare_time_limit(flags, &options_.time_limit_s);
    declare_evaluations(flags, &options_.evaluations);
    declare_threads(flags, &options_.threads);
    flags.seed("seed", "of the algorithms that draw random numbers", &options_.seed);
    flags.text("output", "FILE", "write the plan as JSON; - = to stdout, and nothing else there",
               &output_);
  }

  Status run(const FlagSet&) override {
    NEUROSHARD_ASSIGN_OR_RETURN(const LoadedWorkload loaded, load_workload(tables_, batch_size_));
    NEUROSHARD_ASSIGN_OR_RETURN(const NamedCostModels models, load_cost_models(cost_model_));
    options_.cancel = &cancel_token();
    std::optional<ProgressBar> progress(std::in_place);
    options_.progress = &*progress;
    NEUROSHARD_ASSIGN_OR_RETURN(const PlanResult best,
                                make_plan(loaded.workload, cluster_, models.models, options_));
    progress.reset();
    options_.progress = nullptr;
    if (cancel_token().cancelled()) print_note("interrupted: this is the best plan so far");
    const bool ended_by_time = best.stopped_early && !cancel_token().cancelled();
    if (ended_by_time && output_ == "-") print_note(kEndedByTime);
    if (output_) {
      NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, plan_json(loaded, models, best)));
      if (*output_ == "-") return {};
    }
    return report(loaded.workload, models, best);
  }

 private:
  [[nodiscard]] std::string plan_json(const LoadedWorkload& loaded, const NamedCostModels& models,
                                      const PlanResult& best) const {
    io::PlanDocument document;
    document.plan = best.plan;
    document.batch_size = loaded.workload.batch_size;
    document.cost = best.cost;
    document.provenance = {version(),     models.name,    models.sha256,
                           loaded.sha256, best.algorithm, options_.seed};
    return io::format_plan(document);
  }

  Status report(const Workload& workload, const NamedCostModels& models, const PlanResult& best) {
    const Console console = Console::of(STDOUT_FILENO);
    std::int64_t bytes = 0;
    for (const Table& table : workload.tables) bytes += table_bytes(table);
    std::string text = std::to_string(workload.tables.size()) + " tables, " + format_bytes(bytes) +
                       ", batch " + with_commas(workload.batch_size) + ", on " +
                       std::to_string(cluster_.devices) + " devices of " +
                       format_bytes(cluster_.memory_bytes) + "\ncost model " + describe(models) +
                       "\n\n";
    text += plan_table(console, best.plan, best.cost, cluster_.memory_bytes);
    text += "\n" +
            console.paint("plan cost " + milliseconds(best.cost.cost_ms, best.cost.cost_ms) + " ms",
                          Style::kBold) +
            " (" + best.algorithm + ", " + std::to_string(best.plan.shards.size()) + " shards, " +
            with_commas(best.evaluations) + " plans evaluated in " + fixed(best.seconds, 3) +
            " s)\n";
    if (best.stopped_early && !cancel_token().cancelled()) text += kEndedByTime + "\n";
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string others,
                                baselines(workload, models.models, best, console));
    text += others;
    if (output_) text += "plan written to " + *output_ + "\n";
    return print(text);
  }

  /// What the plans of the baselines cost, none of which gets more time than this plan took. Empty
  /// after an interrupt: the user wants to go.
  Result<std::string> baselines(const Workload& workload, const CostModels& models,
                                const PlanResult& best, const Console& console) {
    if (cancel_token().cancelled()) return std::string();
    std::vector<std::string> names = baseline_names();
    std::erase(names, best.algorithm);
    PlanOptions options = options_;
    options.time_limit_s = std::max(best.seconds, kBaselineSeconds);
    Result<std::vector<ComparedPlan>> compared =
        compare_plans(workload, cluster_, models, names, options);
    if (!compared.ok()) {
      return compared.status().code() == StatusCode::kCancelled ? Result<std::string>("")
                                                                : compared.status();
    }
    TextTable table({{"baseline", Align::kLeft}, {"cost ms"}, {"this plan"}});
    const ComparedPlan* strongest = nullptr;
    for (const ComparedPlan& other : *compared) {
      if (!other.result.ok()) {
        table.add({other.algorithm, "infeasible", "-"});
        continue;
      }
      const double cost = other.result.value().cost.cost_ms;
      table.add({other.algorithm, milliseconds(cost, best.cost.cost_ms), change(cost, best)});
      if (strongest == nullptr || cost < strongest->result.value().cost.cost_ms) strongest = &other;
    }
    const std::string verdict =
        strongest == nullptr ? "no baseline finds a plan that fits\n"
                             : "the best baseline is " + strongest->algorithm + ": this plan is " +
                                   change(strongest->result.value().cost.cost_ms, best) + "\n";
    return "\n" + table.render(console) + verdict;
  }

  /// "12.3 % cheaper": how this plan's cost compares with another's.
  static std::string change(double other_ms, const PlanResult& best) {
    const double percent = 100 * (1 - best.cost.cost_ms / other_ms);
    const std::string size = fixed(std::abs(percent), 1);
    if (size == "0.0") return "equally good";
    return size + (percent > 0 ? " % cheaper" : " % dearer");
  }

  std::string tables_;
  Cluster cluster_;
  std::optional<std::int64_t> batch_size_;
  std::string cost_model_{kDefaultCostModel};
  std::optional<std::string> output_;
  PlanOptions options_{.threads = 0};
};

}  // namespace

std::unique_ptr<Command> make_plan_command() { return std::make_unique<PlanCommand>(); }

}  // namespace neuroshard::apps
