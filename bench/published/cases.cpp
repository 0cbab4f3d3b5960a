#include "bench/published/cases.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/core/cluster.h"
#include "engine/ground_truth/sim/comm_model.h"
#include "engine/ground_truth/sim/compute_model.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "io/file.h"
#include "io/json/json.h"
#include "io/tables/tables.h"

namespace neuroshard::bench {
namespace {

using Pools = std::map<std::string, Workload>;

Result<const Workload*> pool_of(const std::string& path, Pools& pools) {
  const auto known = pools.find(path);
  if (known != pools.end()) return &known->second;
  NEUROSHARD_ASSIGN_OR_RETURN(io::TableFile file, io::read_tables(path));
  Workload workload{std::move(file.tables), file.batch_size.value_or(io::kDefaultBatchSize)};
  return &pools.emplace(path, std::move(workload)).first->second;
}

Status read_workload(io::JsonObject& object, Pools& pools, Workload& workload) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string path, object.text("tables"));
  NEUROSHARD_ASSIGN_OR_RETURN(const Workload* pool, pool_of(path, pools));
  workload.batch_size = pool->batch_size;
  NEUROSHARD_ASSIGN_OR_RETURN(const io::JsonArray of, object.array("of"));
  for (const io::JsonValue value : of) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t index,
                                value.integer(0, std::ssize(pool->tables) - 1));
    workload.tables.push_back(pool->tables[static_cast<std::size_t>(index)]);
  }
  return {};
}

Status read_plan(io::JsonObject& object, const Workload& workload, Plan& plan) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t devices,
                              object.integer("devices", 1, kMaxDevices));
  plan.devices = static_cast<std::int32_t>(devices);
  NEUROSHARD_ASSIGN_OR_RETURN(const io::JsonArray device_of, object.array("device_of"));
  std::int32_t table = 0;
  for (const io::JsonValue value : device_of) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t device, value.integer(0, devices - 1));
    if (table >= std::ssize(workload.tables)) return value.error("more devices than tables");
    plan.shards.push_back(whole_table(workload, table++, static_cast<std::int32_t>(device)));
  }
  return {};
}

Status read_exchange(io::JsonObject& object, Case& one) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t ranks, object.integer("ranks", 1, kMaxDevices));
  one.ranks = static_cast<std::int32_t>(ranks);
  NEUROSHARD_ASSIGN_OR_RETURN(one.bytes, object.number("bytes", 0));
  return {};
}

Result<Case> read_case(const io::JsonValue& value, Pools& pools) {
  NEUROSHARD_ASSIGN_OR_RETURN(io::JsonObject object, value.object());
  Case one;
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string kind, object.text("kind"));
  NEUROSHARD_ASSIGN_OR_RETURN(one.profile, object.text("profile"));
  if (kind == "exchange") {
    one.kind = CaseKind::kExchange;
    NEUROSHARD_RETURN_IF_ERROR(read_exchange(object, one));
  } else if (kind == "plan" || kind == "lookup") {
    one.kind = kind == "plan" ? CaseKind::kPlan : CaseKind::kLookup;
    NEUROSHARD_RETURN_IF_ERROR(read_workload(object, pools, one.workload));
    if (one.kind == CaseKind::kPlan) {
      NEUROSHARD_RETURN_IF_ERROR(read_plan(object, one.workload, one.plan));
    }
  } else {
    return value.error("kind is '" + kind + "', expected plan, lookup or exchange");
  }
  NEUROSHARD_RETURN_IF_ERROR(object.finish());
  return one;
}

ComputeTime lookup_time(const HardwareProfile& profile, const Workload& workload) {
  std::vector<Shard> shards;
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    shards.push_back(whole_table(workload, table, 0));
  }
  return simulate_compute(profile, workload, shards);
}

/// Every rank sends bytes / ranks to each: four columns of as many samples as make that many bytes.
double exchange_ms(const InterconnectProfile& link, const Case& one) {
  constexpr double kBytesPerSample = 16;
  const auto batch = static_cast<std::int64_t>(one.bytes / kBytesPerSample);
  const std::vector<std::int64_t> dims(static_cast<std::size_t>(one.ranks), 4);
  const std::vector<double> starts(dims.size(), 0.0);
  return simulate_all_to_all(link, dims, starts, std::max<std::int64_t>(1, batch)).backward_ms[0];
}

Result<std::vector<double>> simulate_case(const Case& one, const ChosenProfile& hardware) {
  if (one.kind == CaseKind::kExchange) return std::vector{exchange_ms(hardware.interconnect, one)};
  if (one.kind == CaseKind::kLookup) {
    const ComputeTime time = lookup_time(hardware.profile, one.workload);
    return std::vector{time.forward_ms, time.backward_ms};
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const PlanMeasurement plan,
                              simulate_plan(hardware, one.workload, one.plan));
  return std::vector{plan.cost.cost_ms};
}

}  // namespace

Result<std::vector<Case>> read_cases(const std::string& path) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, io::read_text_file(path));
  NEUROSHARD_ASSIGN_OR_RETURN(const io::JsonDocument document,
                              io::JsonDocument::parse(bytes, path));
  NEUROSHARD_ASSIGN_OR_RETURN(const io::JsonArray array, document.root().array());
  Pools pools;
  std::vector<Case> cases;
  for (const io::JsonValue value : array) {
    NEUROSHARD_ASSIGN_OR_RETURN(Case one, read_case(value, pools));
    cases.push_back(std::move(one));
  }
  return cases;
}

Result<std::vector<double>> simulate_cases(const std::vector<Case>& cases,
                                           const std::map<std::string, ChosenProfile>& profiles,
                                           ThreadPool& pool) {
  std::vector<Result<std::vector<double>>> parts(cases.size(), std::vector<double>{});
  pool.parallel_for(std::ssize(cases), [&](std::int64_t i, int) {
    const Case& one = cases[static_cast<std::size_t>(i)];
    parts[static_cast<std::size_t>(i)] = simulate_case(one, profiles.at(one.profile));
  });
  std::vector<double> figures;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].ok()) return parts[i].status().with_context("case " + std::to_string(i));
    figures.insert(figures.end(), parts[i]->begin(), parts[i]->end());
  }
  return figures;
}

}  // namespace neuroshard::bench
