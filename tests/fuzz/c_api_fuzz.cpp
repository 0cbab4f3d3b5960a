#include <neuroshard/engine.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/promises.h"

using namespace neuroshard;
using fuzz::require;

namespace {

/// Searches of more than this take too long for a fuzzer.
constexpr std::size_t kMostTables = 32;

/// What a caller may be told: the fault of an input, or that nothing fits, in one line.
void require_clear(const Error& error) {
  const bool usual =
      error.status == NEUROSHARD_INVALID_INPUT || error.status == NEUROSHARD_INFEASIBLE;
  require(usual, "a call succeeds or says what is wrong with its input", error.message);
  require(!error.message.empty() && error.message.size() < 2000, "short", error.message);
  require(fuzz::prints_as_one_line(error.message), "one printable line", error.message);
}

template <typename T>
const T* accepted(const Result<T>& result) {
  if (result.ok()) return &*result;
  require_clear(result.error());
  return nullptr;
}

Planner make_planner(const char* name) { return *Planner::create(*CostModels::shipped(name)); }

/// By the networks, or by TorchRec's formula, which knows hosts, rows and replicas.
const Planner& planner(bool formula) {
  static const Planner networks = make_planner("h200_sim");
  static const Planner torchrec = make_planner("torchrec");
  return formula ? torchrec : networks;
}

/// No plan costs less than the bound, and what an explanation offers for a table is a plan that
/// costs what it says.
void explain(const Planner& planner, const Workload& workload, const Cluster& cluster,
             const Plan& plan, const PlanOptions& options) {
  const Result<double> bound = planner.lower_bound(workload, cluster, options);
  require(bound.ok(), "a workload that was planned has a bound or none",
          bound.ok() ? "" : bound.error().message);
  const std::string costs = std::to_string(plan.cost_ms()) + " " + std::to_string(*bound);
  require(plan.cost_ms() >= *bound * (1 - 1e-6), "no plan costs less than the bound", costs);
  const Result<Explanation> explained = planner.explain(workload, plan, cluster, {.most = 2});
  require(explained.ok(), "a plan that was searched can be explained",
          explained.ok() ? "" : explained.error().message);
  for (std::size_t k = 0; k < explained->table_count(); ++k) {
    const neuroshard_table_explanation table = *explained->table(k);
    if (table.next_best_count == 0) continue;
    std::vector<Shard> shards = plan.shards();
    std::erase_if(shards, [&](const Shard& shard) { return shard.table == table.table; });
    shards.insert(shards.end(), table.next_best, table.next_best + table.next_best_count);
    const Result<Plan> other = Plan::create(cluster.devices, workload.batch_size(), shards);
    require(other.ok() && other->check(workload, cluster).ok(), "what it offers is a plan");
  }
}

/// A plan that a planner made is one, in every format that has a place for it, and what is read
/// back of it can be planned on.
void follow(const Planner& planner, const Workload& workload, const Cluster& cluster,
            const Plan& plan) {
  const Result<void> right = plan.check(workload, cluster);
  require(right.ok(), "a plan that was searched fits", right.ok() ? "" : right.error().message);
  for (std::size_t i = 0; i < neuroshard_export_format_count(); ++i) {
    const neuroshard_text name = neuroshard_export_format_name(i);
    const std::string format(name.data, name.size);
    const Result<std::string> exported = plan.export_as(workload, format);
    const std::string* text = accepted(exported);
    require(text != nullptr || format != "json", "every plan is a plan of ours");
    if (text == nullptr || (format != "json" && format != "torchrec" && format != "hugectr")) {
      continue;
    }
    const std::int32_t devices = format == "json" ? 0 : cluster.devices;
    const Result<Plan> read = Plan::import_from(*text, format, workload, devices);
    require(read.ok(), "what is written is read", read.ok() ? "" : read.error().message);
    require(read->check(workload, cluster).ok(), "a plan that was read is whole", *text);
    PlanOptions options{.evaluations = 20, .threads = 1};
    options.target = format;
    options.whole_tables = format == "json";
    const Result<Plan> again = planner.replan(workload, cluster, *read, 1 << 20, options);
    if (const Plan* moved = accepted(again)) {
      require(moved->check(workload, cluster).ok(), "a plan that was replanned fits", *text);
    }
  }
}

}  // namespace

// The C interface from end to end: a table file with a few bytes of settings before it is read,
// planned, checked, written in all formats, read back, planned anew and explained.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data + 3), size - 3);
  const Result<Workload> parsed = Workload::parse(bytes, "input");
  const Workload* workload = accepted(parsed);
  if (workload == nullptr || workload->table_count() > kMostTables) return 0;
  const Cluster cluster{.devices = 1 + data[0] % 8,
                        .memory_bytes = std::int64_t{1} << data[1] % 48};
  const PlanOptions options{.evaluations = 20,
                            .threads = 1,
                            .row_splits = data[2] / 2 % 4,
                            .data_parallel = data[2] / 8 % 2 == 1,
                            .equal_columns = data[2] / 16 % 2 == 1};
  const Planner& own = planner(data[2] % 2 == 1);
  const Result<Plan> searched = own.plan(*workload, cluster, options);
  if (const Plan* plan = accepted(searched)) {
    follow(own, *workload, cluster, *plan);
    explain(own, *workload, cluster, *plan, options);
  }
  return 0;
}
