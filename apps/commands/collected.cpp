#include "apps/commands/collected.h"

#include "apps/console/output.h"
#include "apps/console/words.h"
#include "engine/core/decimal.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/ground_truth/collect_measured.h"
#include "io/benchmark/set_benchmark.h"

namespace neuroshard::apps {

std::string collected_summary(const CollectReport& report, const std::string& output,
                              const ModelOrigin& origin) {
  std::string text = with_commas(report.found + report.added) + " samples in " + output + ", " +
                     with_commas(report.added) + " of them new";
  if (report.added > 0 && report.seconds > 0) {
    text += " (" + fixed_decimals(static_cast<double>(report.added) / report.seconds, 1) + "/s)";
  }
  return text + "\n" + describe(origin) + "\n";
}

void declare_collect_from(FlagSet& flags, std::string* out) {
  flags
      .text("from", "DIR",
            "measures nothing: takes what run_sets.py has measured in this folder of "
            "`export --format benchmark --for 'least-sure K'`",
            out)
      .reads();
}

Status collect_from(const FlagSet& flags, const std::string& from, const std::string& output) {
  for (const FlagSet::Info& flag : flags.infos()) {
    if (flag.name == "from" || flag.name == "output" || !flags.given(flag.name)) continue;
    return invalid_input("--" + flag.name +
                         ": found with --from, expected without: nothing is measured here");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const io::MeasuredSets measured, io::read_measured_sets(from));
  NEUROSHARD_ASSIGN_OR_RETURN(CollectReport report, collect_measured(measured, output));
  report.seconds = 0;  // of copying: no speed of measuring
  return print(
      collected_summary(report, output, {measured.collection.hardware, Provenance::kMeasured}));
}

}  // namespace neuroshard::apps
