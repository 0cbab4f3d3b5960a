#include "search/refine/usual_limit.h"

#include "search/stop_check.h"

namespace neuroshard::search {

SearchOptions with_usual_limit(SearchOptions options) {
  if (options.time_limit_s <= 0 && options.evaluations <= 0) options.time_limit_s = kRefineSeconds;
  if (options.time_limit_s > kNoTimeLimit) options.time_limit_s = kNoTimeLimit;
  return options;
}

}  // namespace neuroshard::search
