#include "engine/api/replanning.h"

#include <string>

#include "engine/api/boundary.h"
#include "engine/api/inputs.h"
#include "engine/api/numbered_plan.h"
#include "engine/api/planner_log.h"

namespace neuroshard::api {

Result<Replanning> read_replanning(const neuroshard_planner& planner,
                                   const neuroshard_workload& workload,
                                   const neuroshard_cluster* cluster, const neuroshard_plan* now,
                                   std::int64_t move_limit_bytes,
                                   const neuroshard_plan_options* options) {
  NEUROSHARD_REQUIRE(now);
  NEUROSHARD_ASSIGN_OR_RETURN(const GivenCluster places, read_cluster(cluster));
  NEUROSHARD_RETURN_IF_ERROR(check_one_exchange(places));
  Replanning read;
  NEUROSHARD_ASSIGN_OR_RETURN(
      read.running,
      numbered_for(workload, *now, "now", io::UnknownTables::kDropped, warnings_of(planner)));
  read.devices = places.like(read.running);
  NEUROSHARD_ASSIGN_OR_RETURN(read.given, read_optional_struct(options, "options"));
  NEUROSHARD_ASSIGN_OR_RETURN(read.search, read_search(read.given));
  // A replan finds no hot rows.
  NEUROSHARD_RETURN_IF_ERROR(require_zero(read.given.hot_rows, "options.hot_rows"));
  NEUROSHARD_RETURN_IF_ERROR(require_zero(read.given.hot_memory_bytes, "options.hot_memory_bytes"));
  read.limit = {.bytes = move_limit_bytes, .whole_tables = read.search.whole_tables};
  return read;
}

Result<std::unique_ptr<neuroshard_plan>> search_near(const neuroshard_planner& planner,
                                                     const neuroshard_workload& workload,
                                                     const Replanning& replanning,
                                                     const Search& search) {
  NEUROSHARD_ASSIGN_OR_RETURN(
      std::unique_ptr<neuroshard_plan> found,
      search_plan(planner, workload, replanning.devices, replanning.search.options,
                  {replanning.given.progress, replanning.given.progress_user_data}, search));
  found->document.places = replanning.running.places;
  found->document.places.devices_per_host = replanning.devices.devices_per_host;
  return found;
}

}  // namespace neuroshard::api
