#include "engine/api/planner_log.h"

#include <algorithm>

#include "engine/api/boundary.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/capability_words.h"
#include "io/text.h"
#include "search/algorithms.h"

namespace neuroshard::api {
namespace {

void warn_of_narrower_rows(const neuroshard_planner& planner, const PlanOptions& options) {
  const RowSplits known = capabilities(planner.models->models).row_splits;
  const RowSplits run = options.trainer.row_splits;
  if (run >= std::min(options.row_splits, known)) return;  // what the models know is told by them
  warn_if_any(planner, "options.row_splits: found " + std::string(to_string(options.row_splits)) +
                           ", the target has no place for more than " +
                           std::string(to_string(run)));
}

}  // namespace

void log_line(const neuroshard_planner& planner, std::int32_t level, const std::string& message) {
  if (planner.log == nullptr) return;
  const std::string line = io::printable(message);
  planner.log(planner.log_user_data, level, text_of(line));
}

void warn_if_any(const neuroshard_planner& planner, const std::string& warning) {
  if (!warning.empty()) log_line(planner, NEUROSHARD_LOG_WARNING, warning);
}

std::function<void(const std::string&)> warnings_of(const neuroshard_planner& planner) {
  return [&planner](const std::string& warning) { warn_if_any(planner, warning); };
}

void warn_of_simulation(const neuroshard_planner& planner) {
  if (!simulated(planner.models->models)) return;
  log_line(planner, NEUROSHARD_LOG_WARNING, "cost model " + describe(*planner.models));
}

void warn_of_guesses(const neuroshard_planner& planner, std::int32_t devices,
                     const Workload& workload) {
  warn_if_any(planner, device_guess(*planner.models, devices));
  warn_if_any(planner, table_guess(*planner.models, workload.tables));
  warn_if_any(planner, dropped_samples(*planner.models, devices, workload.batch_size));
}

void warn_of_host_memory(const neuroshard_planner& planner, const Cluster& cluster) {
  if (cluster.host_memory_bytes == 0 || capabilities(planner.models->models).host_memory) return;
  log_line(
      planner, NEUROSHARD_LOG_WARNING,
      "cluster.host_memory_bytes: changes nothing, " + lacks_host_memory(planner.models->name));
}

void warn_of_target(const neuroshard_planner& planner, const Cluster& cluster,
                    std::int32_t row_splits, const PlanOptions& options) {
  if (row_splits != NEUROSHARD_ROW_SPLITS_DEFAULT) warn_of_narrower_rows(planner, options);
  const bool known = capabilities(planner.models->models).host_memory;
  if (!known || cluster.host_memory_bytes == 0 || options.trainer.host_memory) return;
  log_line(planner, NEUROSHARD_LOG_WARNING,
           "cluster.host_memory_bytes: changes nothing, the target has no place for tables there");
}

void warn_of_hot_rows(const neuroshard_planner& planner, const PlanOptions& options,
                      bool memory_given) {
  if (!options.hot_rows) {
    if (memory_given) {
      warn_if_any(planner, "options.hot_memory_bytes: changes nothing without options.hot_rows");
    }
    return;
  }
  const search::Algorithm* algorithm = search::find_algorithm(options.algorithm);
  std::string why;
  if (algorithm != nullptr && !algorithm->holds_hot_rows) {
    why = options.algorithm + " finds none";
  } else if (!capabilities(planner.models->models).hot_rows) {
    why = lacks_hot_rows(planner.models->name);
  } else if (!options.trainer.hot_rows) {
    why = "the target has no place for such";
  }
  if (!why.empty()) warn_if_any(planner, "options.hot_rows: changes nothing, " + why);
}

void log_result(const neuroshard_planner& planner, const PlanResult& result) {
  if (planner.log == nullptr) return;
  if (result.stopped_early) {
    log_line(planner, NEUROSHARD_LOG_INFO, "stopped by time or the caller: the best plan so far");
  }
  log_line(planner, NEUROSHARD_LOG_INFO,
           result.algorithm + ": plan cost " + std::to_string(result.cost.cost_ms) + " ms, " +
               std::to_string(result.evaluations) + " plans evaluated in " +
               std::to_string(result.seconds) + " s");
}

}  // namespace neuroshard::api
