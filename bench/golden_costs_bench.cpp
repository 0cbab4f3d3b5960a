// What plans cost in the mean, setting by setting, beside what they cost when golden_costs.csv was
// written: on one thread, with so many evaluations and no time limit. Exit code 1 where a setting
// has become dearer. From the repository's root:
//
//   golden_costs_bench [--setting NAME] [--tasks N] [--golden FILE] [--write FILE]
//
// The settings with the reference's networks need NEUROSHARD_TEST_DATA, the folder of test data.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bench/golden_costs/golden_table.h"
#include "bench/golden_costs/mean_cost.h"
#include "bench/golden_costs/settings.h"
#include "bench/support/flags.h"
#include "bench/support/instruction_set.h"
#include "bench/support/timing.h"
#include "io/file.h"

namespace neuroshard::bench {
namespace {

constexpr double kWorsePercent = 0.1;  // above which a setting has become dearer

struct Flags {
  std::string root = ".";
  std::optional<std::string> golden;
  std::optional<std::string> write;
  std::optional<std::string> setting;
  std::optional<std::int32_t> tasks;
};

GoldenFolders folders_of(const Flags& flags) {
  const char* data = std::getenv("NEUROSHARD_TEST_DATA");
  return {.root = flags.root, .data = data == nullptr ? "" : data};
}

/// Of one setting, printed beside the golden one.
struct Outcome {
  GoldenCost cost;
  bool worse = false;
};

Result<Outcome> measure(const GoldenSetting& setting, const Flags& flags,
                        const std::vector<GoldenCost>& golden) {
  const std::int32_t tasks = flags.tasks.value_or(setting.tasks);
  NEUROSHARD_ASSIGN_OR_RETURN(const GoldenInputs inputs,
                              load_inputs(setting, tasks, folders_of(flags)));
  const double began = thread_seconds();
  NEUROSHARD_ASSIGN_OR_RETURN(const double mean, mean_cost(setting, inputs));
  const double seconds = thread_seconds() - began;
  Outcome outcome{{std::string(setting.name), static_cast<std::int64_t>(inputs.workloads.size()),
                   setting.evaluations, mean}};
  std::printf("%-26s %5lld %11lld %12.6f", outcome.cost.setting.c_str(),
              static_cast<long long>(outcome.cost.tasks),
              static_cast<long long>(outcome.cost.evaluations), mean);
  if (const GoldenCost* known = find_golden(golden, outcome.cost)) {
    const double percent = 100 * (mean - known->mean_cost_ms) / known->mean_cost_ms;
    outcome.worse = percent > kWorsePercent;
    std::printf(" %12.6f %+8.3f %% %6.1f s%s\n", known->mean_cost_ms, percent, seconds,
                outcome.worse ? "  DEARER" : "");
  } else {
    std::printf(" %12s %10s %6.1f s\n", "-", "", seconds);
  }
  std::fflush(stdout);
  return outcome;
}

Result<std::vector<GoldenCost>> read_golden(const std::string& path, const Flags& flags) {
  if (flags.write && !std::filesystem::exists(path)) return std::vector<GoldenCost>{};
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, io::read_file(path));
  return parse_golden(bytes, path);
}

/// The exit code.
Result<int> run(const Flags& flags) {
  const std::string path = flags.golden.value_or(flags.root + "/bench/golden_costs.csv");
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<GoldenCost> golden, read_golden(path, flags));
  use_one_instruction_set();
  std::printf("%-26s %5s %11s %12s %12s %10s\n", "setting", "tasks", "evaluations", "mean ms",
              "golden", "difference");
  std::vector<GoldenCost> costs;
  int worse = 0;
  for (const GoldenSetting& setting : golden_settings()) {
    if (flags.setting && setting.name != *flags.setting) continue;
    if (setting.source == TableSource::kReference && folders_of(flags).data.empty()) {
      std::printf("%-26s skipped: no NEUROSHARD_TEST_DATA\n", std::string(setting.name).c_str());
      continue;
    }
    NEUROSHARD_ASSIGN_OR_RETURN(Outcome outcome, measure(setting, flags, golden));
    worse += outcome.worse ? 1 : 0;
    costs.push_back(std::move(outcome.cost));
  }
  if (flags.write) {
    NEUROSHARD_RETURN_IF_ERROR(
        io::write_file_atomically(*flags.write, format_golden(replaced(golden, costs))));
    return 0;
  }
  if (worse > 0) std::printf("%d settings more than %.1f %% dearer\n", worse, kWorsePercent);
  return worse > 0 ? 1 : 0;
}

int main_of(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const GoldenSetting& setting : golden_settings()) names.emplace_back(setting.name);
  Flags own;
  apps::FlagSet flags;
  flags.choice("setting", "NAME", "this one alone", &own.setting, names);
  flags.integer("tasks", "of each setting, instead of its own number", &own.tasks, 1, kMaxRounds);
  flags.text("golden", "FILE", "the golden table", &own.golden)
      .default_text("bench/golden_costs.csv of the root");
  flags.text("write", "FILE", "write the golden table there, these costs in it", &own.write);
  flags.text("root", "FOLDER", "the repository", &own.root);
  if (const auto code = read_flags(flags, "What plans cost in the mean.", words)) return *code;
  const Result<int> code = run(own);
  if (code.ok()) return *code;
  std::fprintf(stderr, "%s\n", code.status().message().c_str());
  return 2;
}

}  // namespace
}  // namespace neuroshard::bench

int main(int argc, char** argv) { return neuroshard::bench::main_of({argv, argv + argc}); }
