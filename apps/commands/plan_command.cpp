#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "apps/commands/baselines.h"
#include "apps/commands/plan_report.h"
#include "apps/commands/plan_request.h"
#include "apps/commands/plan_search.h"
#include "apps/commands/report_facts.h"
#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/flags/exchange_flag.h"
#include "apps/interrupt.h"
#include "apps/make_commands.h"
#include "engine/core/offload.h"
#include "engine/cost_model/plan_error.h"
#include "io/file.h"
#include "io/formats/plan_export.h"

namespace neuroshard::apps {
namespace {

class PlanCommand final : public Command {
 public:
  void declare(FlagSet& flags) override { request_.declare(flags); }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_ASSIGN_OR_RETURN(const PlanInputs inputs, request_.read(flags));
    NEUROSHARD_ASSIGN_OR_RETURN(FoundPlan found, search_plan(flags, inputs, request_));
    const Workload& workload = inputs.loaded.workload;
    for (std::size_t k = 0; k < inputs.models.size(); ++k) {
      const PlanCost& cost = request_.robust() ? found.robust.costs[k].cost : found.best.cost;
      note_guesses(inputs.models[k], {&request_.cluster.devices, 1}, workload, cost.per_device);
    }
    note_end_of_search(found.best);
    NEUROSHARD_RETURN_IF_ERROR(found.text.status());
    note_if_any(io::rows_as_run(request_.exported.format, workload, found.best.plan));
    return hand_over(flags, inputs, found);
  }

 private:
  void note_end_of_search(const PlanResult& best) const {
    const bool interrupted = cancel_token().cancelled();
    if (interrupted) print_note("interrupted: this is the best plan so far");
    if (!best.skipped.empty()) {
      print_note("the time limit left no room for " + best.skipped +
                 ", which may find better plans");
    }
    if (best.stopped_early && !interrupted && request_.output == "-") print_note(ended_by_time());
  }

  /// The file, and for people a report with `others` or, where there are none yet, the baselines.
  /// A plan stands in its file before it is held against them; an html page shows them.
  Status hand_over(const FlagSet& flags, const PlanInputs& inputs, FoundPlan& found) {
    const bool shows_others = request_.exported.shows_costs();
    if (request_.output && !shows_others) {
      NEUROSHARD_RETURN_IF_ERROR(deliver(*request_.output, *found.text));
      if (request_.output == "-") return {};
    }
    if (found.others.empty() && !request_.robust()) {
      found.others = baselines_if_possible(inputs, found.best);
    }
    if (request_.output && shows_others) {
      NEUROSHARD_RETURN_IF_ERROR(deliver_page(flags, inputs, found));
      if (request_.output == "-") return {};
    }
    return report(inputs, found);
  }

  /// To show beside a plan, which is what counts.
  [[nodiscard]] std::vector<ComparedPlan> baselines_if_possible(const PlanInputs& inputs,
                                                                const PlanResult& best) const {
    const PlanOptions& options = request_.search.options;
    const double limit = options.time_limit_s;
    const double overrun = limit > 0 ? std::max(best.seconds - limit, 0.0) : 0;
    Result<std::vector<ComparedPlan>> others =
        compare_baselines(inputs.loaded.workload, request_.cluster, inputs.models.front().models,
                          best.algorithm, overrun, options);
    if (others.ok()) return std::move(*others);
    print_note("the plan is not compared with the baselines': " + others.status().message());
    return {};
  }

  Status deliver_page(const FlagSet& flags, const PlanInputs& inputs, const FoundPlan& found) {
    io::PlanDocument document;
    document.plan = found.best.plan;
    document.buffers = request_.cluster.buffers;
    document.exchange = request_.cluster.exchange;
    document.cost = found.best.cost;
    request_.exported.options.memory_limit = request_.cluster.memory_bytes;
    NEUROSHARD_RETURN_IF_ERROR(add_report(flags, "plan", inputs.loaded.workload, document,
                                          request_.cluster.devices_per_host, inputs.models.front(),
                                          request_.exported));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string page, plan_text(inputs, found.best, found.robust,
                                                                  found.others, request_));
    return deliver(*request_.output, page);
  }

  Status report(const PlanInputs& inputs, const FoundPlan& found) const {
    const Console console = Console::of(STDOUT_FILENO);
    const Workload& workload = inputs.loaded.workload;
    const PlanResult& best = found.best;
    std::string text =
        result_text(console, workload, request_.cluster, inputs.models.front(), best);
    text += offloaded_text(workload, best.plan) + hot_rows_text(workload, best.plan) +
            exchange_text(request_.cluster.exchange);
    text += request_.robust() ? robust_text(console, inputs.models, found.robust)
                              : bounds_text(workload, inputs.models.front().models, best);
    if (best.stopped_early && !cancel_token().cancelled()) text += ended_by_time() + "\n";
    if (!request_.robust()) {
      text += baseline_report(console, found.others, best.cost.cost_ms,
                              error_of(inputs.models.front().models, best.cost));
    }
    if (request_.output) text += "plan written to " + *request_.output + "\n";
    return print(text);
  }

  /// How far from the best possible the plan is, and whether other layouts could be better.
  [[nodiscard]] std::string bounds_text(const Workload& workload, const CostModels& models,
                                        const PlanResult& best) const {
    const PlanOptions run = as_trainer_runs(request_.search.options);
    std::string text =
        bound_text(best.lower_bound, best.cost.cost_ms, request_.cluster, models, run);
    if (has_offloaded(best.plan)) return text;
    return text + data_parallel_text(best.lower_bound, workload, request_.cluster, models, run);
  }

  PlanRequest request_;
};

}  // namespace

std::unique_ptr<Command> make_plan_command() { return std::make_unique<PlanCommand>(); }

}  // namespace neuroshard::apps
