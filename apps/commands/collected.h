#pragma once

#include <string>

#include "apps/flags/flags.h"
#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"
#include "engine/ground_truth/collect.h"

namespace neuroshard::apps {

/// How many samples a collection has, how many are new, and what they are of, for people.
std::string collected_summary(const CollectReport& report, const std::string& output,
                              const ModelOrigin& origin);

/// --from DIR.
void declare_collect_from(FlagSet& flags, std::string* out);
/// Makes a collection in `output` of what a benchmark's script has measured in the folder `from`,
/// and prints its summary. Errors: flags that say what only a collection that measures is told,
/// those of io::read_measured_sets() and collect_measured().
Status collect_from(const FlagSet& flags, const std::string& from, const std::string& output);

}  // namespace neuroshard::apps
