#include "apps/commands/compare_summary.h"

#include <algorithm>
#include <map>
#include <optional>

#include "apps/commands/plan_report.h"
#include "apps/console/text_table.h"
#include "engine/core/algorithm_name.h"
#include "engine/core/decimal.h"
#include "engine/cost_model/plan_error.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

using Tasks = std::vector<const io::CompareTask*>;

/// One algorithm over all tasks.
struct Score {
  std::string algorithm;
  std::int64_t feasible = 0;
  std::int64_t wins = 0;
  double seconds = 0;                   ///< sum over all tasks
  std::optional<double> mean_ms{};      ///< over the common tasks; nothing when it solves none
  std::optional<double> error_ms{};     ///< mean half width of their intervals; nothing: not known
  std::optional<double> above_exact{};  ///< mean over the tasks with an optimum above 0
  std::optional<double> above_bound{};  ///< mean over the tasks that it solves
};

/// A mean of what is added.
class Mean {
 public:
  void add(double value) {
    sum_ += value;
    ++count_;
  }
  [[nodiscard]] std::optional<double> value() const {
    return count_ == 0 ? std::nullopt : std::optional(sum_ / count_);
  }

 private:
  double sum_ = 0;
  int count_ = 0;
};

/// Tasks whose costs can be compared: solved by every algorithm that solves any task at all.
Tasks common_tasks(const io::CompareReport& report) {
  std::vector<std::string> able;
  for (const std::string& algorithm : report.algorithms) {
    if (io::summarize(report, algorithm).feasible_tasks > 0) able.push_back(algorithm);
  }
  Tasks common;
  for (const io::CompareTask& task : report.tasks) {
    const bool solved = std::all_of(able.begin(), able.end(), [&task](const std::string& name) {
      return task.results.at(name).feasible;
    });
    if (solved && !able.empty()) common.push_back(&task);
  }
  return common;
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

/// The lowest cost without splits; nothing where `exact` did not run, or it is 0.
std::optional<double> optimum_of(const io::CompareTask& task) {
  const auto optimum = task.results.find(kOptimum);
  if (optimum == task.results.end() || !optimum->second.feasible) return std::nullopt;
  const double cost = optimum->second.cost.cost_ms;
  return cost > 0 ? std::optional(cost) : std::nullopt;
}

Score score_of(const io::CompareReport& report, const Tasks& common, const TaskBounds& bounds,
               const std::string& algorithm) {
  Score score{.algorithm = algorithm};
  Mean cost;
  Mean error;
  bool known = true;
  Mean above_exact;
  Mean above_bound;
  for (std::size_t index = 0; index < report.tasks.size(); ++index) {
    const io::CompareTask& task = report.tasks[index];
    const io::CompareResult& result = task.results.at(algorithm);
    score.seconds += result.seconds;
    if (!result.feasible) continue;
    ++score.feasible;
    if (result.cost.cost_ms <= lowest_cost(task)) ++score.wins;
    if (const auto optimum = optimum_of(task)) above_exact.add(result.cost.cost_ms / *optimum - 1);
    if (!bounds.ms.empty()) above_bound.add(result.cost.cost_ms / bounds.ms[index] - 1);
  }
  for (const io::CompareTask* task : common) {
    if (score.feasible == 0) continue;
    const io::CompareResult& result = task->results.at(algorithm);
    cost.add(result.cost.cost_ms);
    const bool has_error = result.cost_error && result.cost_error->share;
    known &= has_error;
    if (has_error) error.add(result.cost.cost_ms * *result.cost_error->share);
  }
  if (known) score.error_ms = error.value();
  score.mean_ms = cost.value();
  score.above_exact = above_exact.value();
  score.above_bound = above_bound.value();
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
      text += display_name(algorithm) + ": the time limit left no room for " + skipped + " on " +
              std::to_string(count) + " of " + std::to_string(report.tasks.size()) + " tasks\n";
    }
  }
  return text;
}

std::string share_text(const std::optional<double>& share) {
  return share ? fixed_decimals(100 * *share, 3) + " %" : "-";
}

const Score* best_of(const std::vector<Score>& scores) {
  const Score* best = nullptr;
  for (const Score& score : scores) {
    if (score.mean_ms && (best == nullptr || *score.mean_ms < *best->mean_ms)) best = &score;
  }
  return best;
}

/// How sure the lowest mean is, and which others may be as good.
std::string error_text_of(const std::vector<Score>& scores) {
  const Score* best = best_of(scores);
  if (best == nullptr || !(*best->mean_ms > 0)) return "";
  if (!best->error_ms) return "the error of the costs is not known\n";
  const CostError error{*best->error_ms / *best->mean_ms, ""};
  std::string others;
  for (const Score& score : scores) {
    if (&score == best || !score.mean_ms) continue;
    if (!within_error(error, *score.mean_ms, *best->mean_ms)) continue;
    others += (others.empty() ? "" : ", ") + display_name(score.algorithm);
  }
  return "costs " + error_text(error) + " (90 % interval of the lowest mean)" +
         (others.empty() ? "" : "; within the model's error of it: " + others) + "\n";
}

/// The table; the algorithms with the lowest mean stand out.
std::string score_table(const Console& console, const std::vector<Score>& scores, std::size_t tasks,
                        bool has_optimum, bool has_bounds) {
  std::optional<double> best;
  for (const Score& score : scores) {
    if (score.mean_ms && (!best || *score.mean_ms < *best)) best = score.mean_ms;
  }
  std::vector<Column> columns{
      {"algorithm", Align::kLeft}, {"feasible"}, {"mean cost ms"}, {"mean search ms"}, {"wins"}};
  if (has_optimum) columns.push_back({"above exact"});
  if (has_bounds) columns.push_back({"above bound"});
  TextTable table(columns);
  for (const Score& score : scores) {
    std::vector<std::string> cells{
        display_name(score.algorithm), std::to_string(score.feasible) + "/" + std::to_string(tasks),
        score.mean_ms ? milliseconds(*score.mean_ms, *best) : "-",
        fixed_decimals(1000 * score.seconds / static_cast<double>(tasks), 3),
        std::to_string(score.wins)};
    if (has_optimum) cells.push_back(share_text(score.above_exact));
    if (has_bounds) cells.push_back(share_text(score.above_bound));
    const bool is_best = score.mean_ms && score.mean_ms == best;
    table.add(cells, is_best ? Style::kBold : Style::kPlain);
  }
  return table.render(console);
}

}  // namespace

std::string compare_summary(const Console& console, const io::CompareReport& report,
                            const TaskBounds& bounds) {
  const Tasks common = common_tasks(report);
  std::vector<Score> scores;
  for (const std::string& algorithm : report.algorithms) {
    scores.push_back(score_of(report, common, bounds, algorithm));
  }
  const bool has_optimum = std::find(report.algorithms.begin(), report.algorithms.end(),
                                     kOptimum) != report.algorithms.end();
  const bool has_bounds = !bounds.ms.empty();
  const std::string tasks = std::to_string(report.tasks.size());
  std::string text = score_table(console, scores, report.tasks.size(), has_optimum, has_bounds) +
                     "\nmean cost over the " + std::to_string(common.size()) + " of " + tasks +
                     " tasks solved by every algorithm that solves any; a win is the lowest cost "
                     "of a task, ties win for all\n";
  text += error_text_of(scores);
  if (has_optimum) {
    text += "above exact: mean over the tasks that exact solves; below it only with splits\n";
  }
  if (has_bounds) {
    text += "above bound: mean over its tasks; no " + bounds.plans + " is below\n";
  }
  text += skipped_text(report);
  for (const std::string& refusal : refusals(report)) text += io::printable(refusal) + "\n";
  return text;
}

std::vector<std::string> refusals(const io::CompareReport& report) {
  std::vector<std::string> lines;
  for (const std::string& algorithm : report.algorithms) {
    int tasks = 0;
    const std::string* first = nullptr;
    for (const io::CompareTask& task : report.tasks) {
      const std::string& refusal = task.results.at(algorithm).refusal;
      if (refusal.empty()) continue;
      if (tasks++ == 0) first = &refusal;
    }
    if (tasks == 0) continue;
    lines.push_back(display_name(algorithm) + ": refused " + std::to_string(tasks) + " of " +
                    std::to_string(report.tasks.size()) + " tasks: " + *first);
  }
  return lines;
}

}  // namespace neuroshard::apps
