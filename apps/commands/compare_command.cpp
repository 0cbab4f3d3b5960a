#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/commands/plan_report.h"
#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/progress_bar.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "apps/flags/common_flags.h"
#include "apps/flags/host_flags.h"
#include "apps/interrupt.h"
#include "apps/make_commands.h"
#include "engine/core/decimal.h"
#include "engine/planner.h"
#include "io/reports/compare_report.h"
#include "io/tables/tables.h"
#include "io/tables/tasks.h"

namespace neuroshard::apps {
namespace {

/// One algorithm over all tasks, for the table on the console.
struct Score {
  std::int64_t feasible = 0;
  std::int64_t wins = 0;
  double common_cost_ms = 0;  ///< sum over the common tasks
  double seconds = 0;         ///< sum over all tasks
  double gap = 0;             ///< sum over the tasks with an optimum above 0 of cost / optimum - 1
  std::int64_t gaps = 0;      ///< those tasks
};

/// The algorithm whose cost is the lowest there is without splits.
constexpr const char* kOptimum = "exact";

/// Tasks whose costs can be compared: solved by every algorithm that solves any task at all.
std::vector<const io::CompareTask*> common_tasks(const io::CompareReport& report) {
  std::vector<std::string> able;
  for (const std::string& algorithm : report.algorithms) {
    if (io::summarize(report, algorithm).feasible_tasks > 0) able.push_back(algorithm);
  }
  std::vector<const io::CompareTask*> common;
  for (const io::CompareTask& task : report.tasks) {
    const bool solved = std::all_of(able.begin(), able.end(), [&task](const std::string& name) {
      return task.results.at(name).feasible;
    });
    if (solved && !able.empty()) common.push_back(&task);
  }
  return common;
}

/// The tables of the pool that any task has.
std::vector<Table> tables_of(const io::TableFile& pool, const std::vector<io::Task>& tasks) {
  std::set<std::int32_t> ids;
  for (const io::Task& task : tasks) ids.insert(task.tables.begin(), task.tables.end());
  std::vector<Table> tables;
  for (const std::int32_t id : ids) tables.push_back(pool.tables[static_cast<std::size_t>(id)]);
  return tables;
}

/// The lowest cost of a task; nothing when no algorithm solves it.
std::optional<double> lowest_cost(const io::CompareTask& task) {
  std::optional<double> lowest;
  for (const auto& [name, result] : task.results) {
    if (!result.feasible || (lowest && result.cost.cost_ms >= *lowest)) continue;
    lowest = result.cost.cost_ms;
  }
  return lowest;
}

Score score_of(const io::CompareReport& report, const std::vector<const io::CompareTask*>& common,
               const std::string& algorithm) {
  Score score;
  for (const io::CompareTask& task : report.tasks) {
    const io::CompareResult& result = task.results.at(algorithm);
    score.seconds += result.seconds;
    if (!result.feasible) continue;
    ++score.feasible;
    if (result.cost.cost_ms <= lowest_cost(task)) ++score.wins;
    const auto optimum = task.results.find(kOptimum);
    if (optimum == task.results.end() || !optimum->second.feasible) continue;
    if (!(optimum->second.cost.cost_ms > 0)) continue;
    score.gap += result.cost.cost_ms / optimum->second.cost.cost_ms - 1;
    ++score.gaps;
  }
  for (const io::CompareTask* task : common) {
    score.common_cost_ms += task->results.at(algorithm).cost.cost_ms;
  }
  return score;
}

/// What the time limit left no room for, and on how many tasks: a line for each algorithm and part.
std::string skipped_text(const io::CompareReport& report) {
  std::string text;
  for (const std::string& algorithm : report.algorithms) {
    std::map<std::string, int> tasks;
    for (const io::CompareTask& task : report.tasks) ++tasks[task.results.at(algorithm).skipped];
    tasks.erase("");
    for (const auto& [skipped, count] : tasks) {
      text += algorithm + ": the time limit left no room for " + skipped + " on " +
              std::to_string(count) + " of " + std::to_string(report.tasks.size()) + " tasks\n";
    }
  }
  return text;
}

/// Mean over the tasks that the algorithm solves of its cost over the lower bound, less 1.
std::optional<double> above_bound(const io::CompareReport& report,
                                  const std::vector<double>& bounds, const std::string& algorithm) {
  double sum = 0;
  int tasks = 0;
  for (std::size_t index = 0; index < report.tasks.size(); ++index) {
    const io::CompareResult& result = report.tasks[index].results.at(algorithm);
    if (!result.feasible) continue;
    sum += result.cost.cost_ms / bounds[index] - 1;
    ++tasks;
  }
  return tasks == 0 ? std::nullopt : std::optional(sum / tasks);
}

class CompareCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags.text("tables", "FILE", "the pool that the tasks' ids point into; - = stdin", &tables_)
        .required()
        .reads();
    flags.text("tasks", "FILE", "one task a line: id,id,... dim,dim,...", &tasks_)
        .required()
        .reads();
    declare_devices(flags, &cluster_.devices);
    declare_device_memory(flags, &cluster_.memory_bytes);
    declare_cost_model(flags, &cost_model_);
    declare_devices_per_host(flags, &devices_per_host_)
        .default_text("8: the cost model torchrec alone knows hosts");
    algorithms_ = baseline_names();
    algorithms_.emplace_back(default_algorithm());
    flags.list("algorithms", "A,B,..", "what to compare, of " + join(algorithm_names(), ", "),
               &algorithms_);
    declare_time_limit(flags, &options_.time_limit_s);
    declare_evaluations(flags, &options_.evaluations);
    declare_row_splits(flags, &row_splits_);
    declare_data_parallel(flags, &data_parallel_);
    declare_search_threads(flags, &options_.threads).default_text("1, so that seconds compare");
    flags.seed("seed", "of the algorithms that draw random numbers", &options_.seed);
    flags
        .text("output", "FILE", "write plans, costs and seconds as JSON; - = to stdout only",
              &output_)
        .writes();
  }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_RETURN_IF_ERROR(check_algorithms());
    NEUROSHARD_ASSIGN_OR_RETURN(const io::TableFile pool, io::read_tables(tables_));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<io::Task> tasks, io::read_tasks(tasks_));
    NEUROSHARD_ASSIGN_OR_RETURN(
        const NamedCostModels models,
        load_models_for_hosts(cost_model_, devices_per_host_, cluster_.devices));
    note_unknown_hosts(flags, models);
    const ModelOrigin origin = origin_of(models.models);
    io::CompareReport report{cluster_.devices, models.name,
                             origin.hardware,  std::string(word_of(origin.provenance)),
                             algorithms_,      {}};
    options_.row_splits = row_splits_of(row_splits_);
    options_.data_parallel = data_parallel_ == "on";
    note_search_flags(flags, row_splits_, options_.data_parallel, algorithms_, models);
    NEUROSHARD_RETURN_IF_ERROR(compare(pool, tasks, models.models, report));
    note_guesses(models, cluster_.devices, tables_of(pool, tasks));
    if (output_) {
      NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, io::format_compare(report)));
      if (*output_ == "-") return {};
    }
    return print("cost model " + describe(models) + "\n\n" + summary(report));
  }

 private:
  [[nodiscard]] Status check_algorithms() const {
    const std::vector<std::string> known = algorithm_names();
    for (const std::string& name : algorithms_) {
      NEUROSHARD_RETURN_IF_ERROR(check_word(name, known).with_context("--algorithms"));
    }
    return {};
  }

  Status compare(const io::TableFile& pool, const std::vector<io::Task>& tasks,
                 const CostModels& models, io::CompareReport& report) {
    options_.cancel = &cancel_token();
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<Workload> workloads, workloads_of(pool, tasks));
    bounded_ = bounded_plans(models, cluster_.devices, options_);
    ProgressBar progress;
    const auto total = static_cast<std::int64_t>(tasks.size());
    for (std::int64_t index = 0; index < total; ++index) {
      progress.update("comparing", index, total, "tasks");
      const Workload& workload = workloads[static_cast<std::size_t>(index)];
      Result<std::vector<ComparedPlan>> compared =
          compare_plans(workload, cluster_, models, algorithms_, options_);
      // A search that was cut short may have returned a plan, which would not compare.
      if (cancel_token().cancelled()) {
        return cancelled("interrupted in task " + std::to_string(index + 1) + " of " +
                         std::to_string(total) + ", no comparison made");
      }
      if (!compared.ok()) return compared.status().with_context(where(index));
      const auto bound = bound_of(known_bound(*compared), workload, cluster_, models, options_);
      if (bound) bounds_.push_back(*bound);
      report.tasks.push_back(task_report(index, workload, std::move(compared).value()));
    }
    return {};
  }

  static std::optional<double> known_bound(const std::vector<ComparedPlan>& compared) {
    for (const ComparedPlan& entry : compared) {
      if (entry.result.ok() && entry.result->lower_bound) return entry.result->lower_bound;
    }
    return std::nullopt;
  }

  /// All of them before the first search: a bad last task is told at once.
  [[nodiscard]] Result<std::vector<Workload>> workloads_of(
      const io::TableFile& pool, const std::vector<io::Task>& tasks) const {
    std::vector<Workload> workloads;
    for (const io::Task& task : tasks) {
      Result<Workload> workload = io::make_workload(pool, task);
      if (!workload.ok()) {
        return workload.status().with_context(where(static_cast<std::int64_t>(workloads.size())));
      }
      workloads.push_back(std::move(workload).value());
    }
    return workloads;
  }

  [[nodiscard]] std::string where(std::int64_t index) const {
    return tasks_ + ":" + std::to_string(index + 1);
  }

  static io::CompareTask task_report(std::int64_t index, const Workload& workload,
                                     std::vector<ComparedPlan> compared) {
    io::CompareTask task{index, static_cast<std::int64_t>(workload.tables.size()), {}};
    for (ComparedPlan& entry : compared) {
      io::CompareResult& result = task.results[entry.algorithm];
      result.seconds = entry.seconds;
      if (!entry.result.ok()) continue;
      // What it had when its time was over may be anything but the optimum.
      if (entry.algorithm == kOptimum && entry.result->stopped_early) continue;
      result.feasible = true;
      result.plan = std::move(entry.result->plan);
      result.cost = std::move(entry.result->cost);
      result.skipped = std::move(entry.result->skipped);
    }
    return task;
  }

  std::string summary(const io::CompareReport& report) const {
    const std::vector<const io::CompareTask*> common = common_tasks(report);
    const auto total = static_cast<double>(report.tasks.size());
    std::vector<Score> scores;
    std::optional<double> best;
    for (const std::string& name : report.algorithms) {
      scores.push_back(score_of(report, common, name));
      const Score& score = scores.back();
      if (score.feasible > 0 && (!best || score.common_cost_ms < *best))
        best = score.common_cost_ms;
    }
    const bool has_optimum = std::find(report.algorithms.begin(), report.algorithms.end(),
                                       kOptimum) != report.algorithms.end();
    std::vector<Column> columns{
        {"algorithm", Align::kLeft}, {"feasible"}, {"mean cost ms"}, {"mean search ms"}, {"wins"}};
    if (has_optimum) columns.push_back({"above exact"});
    const bool has_bounds = !bounds_.empty() && bounds_.size() == report.tasks.size();
    if (has_bounds) columns.push_back({"above bound"});
    TextTable table(columns);
    for (std::size_t k = 0; k < scores.size(); ++k) {
      const Score& score = scores[k];
      const bool has_mean = score.feasible > 0 && !common.empty();
      const double mean = has_mean ? score.common_cost_ms / static_cast<double>(common.size()) : 0;
      std::vector<std::string> cells{
          report.algorithms[k],
          std::to_string(score.feasible) + "/" + std::to_string(report.tasks.size()),
          has_mean ? milliseconds(mean, *best / static_cast<double>(common.size())) : "-",
          fixed_decimals(1000 * score.seconds / total, 3), std::to_string(score.wins)};
      if (has_optimum) cells.push_back(score.gaps > 0 ? gap_text(score) : "-");
      if (has_bounds) {
        const auto gap = above_bound(report, bounds_, report.algorithms[k]);
        cells.push_back(gap ? fixed_decimals(100 * *gap, 3) + " %" : "-");
      }
      table.add(cells, has_mean && score.common_cost_ms == best ? Style::kBold : Style::kPlain);
    }
    std::string note =
        has_optimum
            ? "above exact: mean over the tasks that exact solves; below it only with splits\n"
            : "";
    if (has_bounds) {
      note += "above bound: mean over its tasks; no " + bounded_ + " is below\n";
    }
    return table.render(Console::of(STDOUT_FILENO)) + "\nmean cost over the " +
           std::to_string(common.size()) + " of " + std::to_string(report.tasks.size()) +
           " tasks solved by every algorithm that solves any; a win is the lowest cost of a task, "
           "ties win for all\n" +
           note + skipped_text(report);
  }

  static std::string gap_text(const Score& score) {
    return fixed_decimals(100 * score.gap / static_cast<double>(score.gaps), 3) + " %";
  }

  std::string tables_;
  std::string tasks_;
  Cluster cluster_;
  std::string cost_model_ = kDefaultCostModel;
  std::int32_t devices_per_host_ = 0;
  std::string row_splits_ = "even";
  std::string data_parallel_ = "off";
  std::vector<std::string> algorithms_;
  std::optional<std::string> output_;
  PlanOptions options_{.threads = 1};
  std::vector<double> bounds_;  // of the tasks, where the cost models have any
  std::string bounded_;         // what plans they are of
};

}  // namespace

std::unique_ptr<Command> make_compare_command() { return std::make_unique<CompareCommand>(); }

}  // namespace neuroshard::apps
