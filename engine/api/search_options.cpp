#include "engine/api/search_options.h"

#include <string>

#include "engine/api/boundary.h"
#include "engine/api/handles.h"
#include "io/formats/plan_formats.h"

namespace neuroshard::api {
namespace {

Result<RowSplits> row_splits_of(std::int32_t given) {
  switch (given) {
    case NEUROSHARD_ROW_SPLITS_OFF:
      return RowSplits::kOff;
    case NEUROSHARD_ROW_SPLITS_EVEN:
      return RowSplits::kEven;
    case NEUROSHARD_ROW_SPLITS_DEFAULT:
    case NEUROSHARD_ROW_SPLITS_ANY:
      return RowSplits::kAny;
    default:
      return invalid_input("options.row_splits: found " + std::to_string(given) +
                           ", expected 0 to 3 (NEUROSHARD_ROW_SPLITS_..)");
  }
}

Result<std::int64_t> hot_memory_of(std::int64_t given) {
  if (given < 0) {
    return invalid_input("options.hot_memory_bytes: found " + std::to_string(given) +
                         ", expected 0 or more");
  }
  return given == 0 ? PlanOptions().hot_memory_bytes : given;
}

}  // namespace

Result<GivenSearch> read_search(const neuroshard_plan_options& given) {
  GivenSearch search;
  NEUROSHARD_RETURN_IF_ERROR(require_zero(given.reserved, "options.reserved"));
  NEUROSHARD_RETURN_IF_ERROR(require_zero(given.reserved_2, "options.reserved_2"));
  PlanOptions& options = search.options;
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view algorithm,
                              view_of(given.algorithm, "options.algorithm"));
  if (!algorithm.empty()) options.algorithm = algorithm;
  options.seed = given.seed;
  options.threads = given.threads;
  options.time_limit_s = given.time_limit_s;
  options.evaluations = given.evaluations;
  NEUROSHARD_ASSIGN_OR_RETURN(options.row_splits, row_splits_of(given.row_splits));
  options.data_parallel = given.data_parallel != 0;
  NEUROSHARD_ASSIGN_OR_RETURN(search.target.format, view_of(given.target, "options.target"));
  NEUROSHARD_RETURN_IF_ERROR(check_target(search.target));
  search.target.any_algorithm = algorithm.empty();
  options.trainer = io::target_rules(search.target.format, {});
  options.trainer.equal_columns |= given.equal_columns != 0;
  search.whole_tables = given.whole_tables != 0;
  options.hot_rows = given.hot_rows != 0;
  NEUROSHARD_ASSIGN_OR_RETURN(options.hot_memory_bytes, hot_memory_of(given.hot_memory_bytes));
  if (given.cancellation != nullptr) options.cancel = &given.cancellation->token;
  return search;
}

Result<GivenSearch> read_plan_search(const neuroshard_plan_options& given) {
  NEUROSHARD_ASSIGN_OR_RETURN(GivenSearch search, read_search(given));
  if (!search.whole_tables) return search;
  return invalid_input("options.whole_tables: found " + std::to_string(given.whole_tables) +
                       ", expected 0: tables say it themselves (forbidden_sharding)");
}

}  // namespace neuroshard::api
