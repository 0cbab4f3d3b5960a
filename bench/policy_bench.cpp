// How long a policy takes to place tables: whole plans of 100 tables on 8 devices, and scores of
// one table on 8, in microseconds of this thread's CPU time, the median of some rounds. The policy
// is trained for a moment first, so that its plans take as many attempts as those of a real one.
//
//   policy_bench [--tables N] [--devices N] [--repeat R]
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "bench/support/flags.h"
#include "bench/support/timing.h"
#include "engine/core/version.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/ground_truth/table_pool.h"
#include "engine/planner/planner.h"
#include "engine/policy/network_policy.h"
#include "engine/policy/train_policy.h"

namespace neuroshard::bench {
namespace {

constexpr std::int64_t kMemory = std::int64_t{80'000'000'000};

struct Flags {
  std::int32_t tables = 100;
  std::int32_t devices = 8;
  std::int32_t repeat = 200;
};

Result<Workload> generated(std::int32_t tables, std::uint64_t seed) {
  GenerateOptions options;
  options.count = tables;
  options.seed = seed;
  return generate_tables(options);
}

Result<PolicyTraining> trained(const CostModels& models, PolicyKind kind) {
  NEUROSHARD_ASSIGN_OR_RETURN(const Workload pool, generated(200, 1));
  PolicyTrainOptions options;
  options.kind = kind;
  options.reward = usual_reward(kind);
  options.tasks = {{8}, 10, 40, kMemory};
  options.imitations = 100;
  options.updates = 1;
  return train_policy(pool, models, options, {});
}

Status time_kind(const CostModels& models, const Workload& workload, PolicyKind kind,
                 const Flags& flags) {
  NEUROSHARD_ASSIGN_OR_RETURN(const PolicyTraining training, trained(models, kind));
  const NetworkPolicy policy(training.model);
  const Cluster cluster{.devices = flags.devices, .memory_bytes = kMemory};
  const PlanOptions options{.algorithm = std::string(to_string(kind)), .policy = &policy};
  std::vector<double> all;
  std::vector<double> searches;
  std::size_t shards = 0;
  for (std::int32_t round = 0; round < flags.repeat; ++round) {
    const double start = thread_seconds();
    NEUROSHARD_ASSIGN_OR_RETURN(const PlanResult plan,
                                make_plan(workload, cluster, models, options));
    all.push_back(1e6 * (thread_seconds() - start));
    searches.push_back(1e6 * plan.seconds);
    shards = plan.plan.shards.size();
  }
  const Figure whole = figure_of(all);
  const Figure search = figure_of(searches);
  std::printf(
      "%-11s %9.0f us a plan (%.0f to %.0f), the search %.0f us on the wall (from %.0f), %zu "
      "shards\n",
      std::string(to_string(kind)).c_str(), whole.median, whole.low, whole.high, search.median,
      search.low, shards);
  std::fflush(stdout);
  return {};
}

Status run(const Flags& flags) {
  NEUROSHARD_ASSIGN_OR_RETURN(const NamedCostModels models, load_shipped_models("h100_sim"));
  NEUROSHARD_ASSIGN_OR_RETURN(const Workload workload, generated(flags.tables, 2));
  NEUROSHARD_ASSIGN_OR_RETURN(const nn::Isa isa, nn::select_isa());
  std::printf("%s, %s, %d tables on %d devices\n", std::string(version()).c_str(),
              std::string(to_string(isa)).c_str(), flags.tables, flags.devices);
  for (const PolicyKind kind : {PolicyKind::kDreamshard, PolicyKind::kAutoshard}) {
    NEUROSHARD_RETURN_IF_ERROR(time_kind(models.models, workload, kind, flags));
  }
  return {};
}

std::optional<int> read(const std::vector<std::string>& words, Flags& flags) {
  apps::FlagSet set;
  set.integer("tables", "tables to place", &flags.tables, 1, 100'000);
  set.integer("devices", "to place them on", &flags.devices, 1, 1024);
  set.integer("repeat", "plans that are timed", &flags.repeat, 1,
              static_cast<std::int32_t>(kMaxRounds));
  return read_flags(set, "How long policies take to place tables.", words);
}

}  // namespace
}  // namespace neuroshard::bench

int main(int argc, char** argv) {
  neuroshard::bench::Flags flags;
  if (const auto code = neuroshard::bench::read({argv, argv + argc}, flags)) return *code;
  return neuroshard::bench::exit_code_of(neuroshard::bench::run(flags));
}
