#include <unistd.h>

#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "apps/commands/costed_plan.h"
#include "apps/commands/explanation_text.h"
#include "apps/commands/plan_report.h"
#include "apps/commands/plan_setting.h"
#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/progress_bar.h"
#include "apps/console/words.h"
#include "apps/flags/exchange_flag.h"
#include "apps/interrupt.h"
#include "apps/make_commands.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

constexpr std::int64_t kMostShown = 1'000'000;

/// The table of that name or, where none has it, that number.
Result<std::int32_t> find_table(const Workload& workload, const std::string& word) {
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    if (workload.tables[index].name == word) return static_cast<std::int32_t>(index);
  }
  std::int32_t number = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  if (whole && number >= 0 && number < std::ssize(workload.tables)) return number;
  return invalid_input("--table: found '" + io::printable(word) +
                       "', expected the name of a table or a number from 0 to " +
                       std::to_string(workload.tables.size() - 1));
}

class ExplainCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    declare_costed_plan(flags, &flags_);
    flags.texts("table", "NAME", "a table to explain, by name or number; may be given again",
                &tables_);
    flags.integer("most", "tables to explain where none is named, the dearest ones", &most_, 1,
                  kMostShown);
    flags
        .text("output", "FILE", "write it as JSON; - = to stdout, and nothing else there", &output_)
        .writes();
  }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_ASSIGN_OR_RETURN(CostedPlan plan, load_costed_plan(flags, flags_));
    plan.document.batch_size = plan.workload().batch_size;
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<TableExplanation> tables, explain(plan));
    if (output_) {
      NEUROSHARD_RETURN_IF_ERROR(
          deliver(*output_, explanation_json(plan.workload(), plan.document, plan.models, tables)));
      if (*output_ == "-") return {};
    }
    return report(plan, tables);
  }

 private:
  Result<std::vector<TableExplanation>> explain(const CostedPlan& plan) {
    ProgressBar progress;
    ExplainOptions options{.most = static_cast<std::size_t>(most_),
                           .buffers = plan.document.buffers,
                           .devices_per_host = plan.devices_per_host,
                           .exchange = plan.document.exchange,
                           .progress = &progress,
                           .cancel = &cancel_token()};
    const Workload& workload = plan.workload();
    for (const std::string& word : tables_) {
      NEUROSHARD_ASSIGN_OR_RETURN(const std::int32_t table, find_table(workload, word));
      options.tables.push_back(table);
    }
    auto tables = explain_plan(workload, plan.document.plan, plan.models.models,
                               plan.document.setting.memory_bytes, options);
    return tables.ok() ? std::move(tables) : tables.status().with_context(plan.input.plan.source);
  }

  [[nodiscard]] Status report(const CostedPlan& plan,
                              const std::vector<TableExplanation>& tables) const {
    const io::PlanDocument& document = plan.document;
    const NamedCostModels& models = plan.models;
    const Workload& workload = plan.workload();
    const double cost_ms = document.cost.cost_ms;
    const CostError& error = *document.cost_error;
    const Console console = Console::of(STDOUT_FILENO);
    std::string text =
        describe_workload(
            workload, {plan.document.buffers, workload.batch_size, plan.document.plan.devices}) +
        ", on " + counted(document.plan.devices, "device") + ": " + cost_text(cost_ms, error) +
        "\ncost model " + describe(models) + other_cost_model(plan.input.plan, models) + "\n" +
        error_line(error) + exchange_text(document.exchange) + "\n" +
        explanation_table(console, workload, tables, cost_ms, error) + "\n" +
        hot_gains_text(workload, tables, cost_ms) + cheaper_text(workload, tables, cost_ms, error);
    const std::int64_t left = std::ssize(workload.tables) - std::ssize(tables);
    if (tables_.empty() && left > 0) {
      text += "the " + std::to_string(tables.size()) + " dearest of " +
              counted(std::ssize(workload.tables), "table") + ": --most and --table show others\n";
    }
    return print(text);
  }

  CostedPlanFlags flags_;
  std::vector<std::string> tables_;
  std::int64_t most_ = 20;
  std::optional<std::string> output_;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace neuroshard::apps
