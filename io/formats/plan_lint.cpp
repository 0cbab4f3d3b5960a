#include "io/formats/plan_lint.h"

#include <algorithm>
#include <utility>

#include "engine/core/bytes.h"
#include "engine/core/check_sharding.h"
#include "engine/core/check_step_memory.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/step_memory.h"
#include "io/formats/plan_formats.h"
#include "io/formats/trainer_lint.h"
#include "io/plans/plan_binding.h"
#include "io/plans/plan_tables.h"
#include "io/plans/table_numbers.h"
#include "io/text.h"
#include "io/trainers/torchrec_plan.h"

namespace neuroshard::io {
namespace {

/// Which rules to hold a plan against, and what they need to know.
struct Target {
  const TrainerLint* lint;  ///< null: none
  std::int32_t devices;
  std::int32_t devices_per_host;
};

/// Those of the trainer that is named or, where none is, of the file's own.
Result<const TrainerLint*> choose_lint(const PlanInput& input, const PlanRules& rules) {
  const PlanFormat* format =
      find_plan_format(rules.target.empty() ? input.format() : std::string_view(rules.target));
  const TrainerLint* lint = format == nullptr ? nullptr : format->lint;
  if (lint != nullptr || rules.target.empty()) return lint;
  std::string known;
  for (const std::string& name : lint_targets()) known += (known.empty() ? "" : " or ") + name;
  return invalid_input("target: found " + excerpt(rules.target) + ", expected " + known);
}

Result<Target> choose_target(const PlanInput& input, const PlanRules& rules,
                             const PlanDocument& document) {
  const std::int32_t devices = document.plan.devices;
  NEUROSHARD_ASSIGN_OR_RETURN(const TrainerLint* lint, choose_lint(input, rules));
  Target target{lint, devices, rules.devices_per_host};
  if (target.devices_per_host == 0) target.devices_per_host = document.places.devices_per_host;
  if (target.devices_per_host < 0 ||
      (target.devices_per_host > 0 && devices % target.devices_per_host != 0)) {
    const std::string said = rules.devices_per_host != 0 ? "--devices-per-host" : input.source;
    return invalid_input(said + ": found " + std::to_string(target.devices_per_host) +
                         " devices per host" + ", expected a divisor of the plan's " +
                         std::to_string(devices) + " devices");
  }
  return target;
}

/// Whether the table may have its shards and its kernel: that of the file where the engine has no
/// such, or does not know how large its cache is.
Status check_allowed(const TorchRecTable* written, Table table, std::span<const Shard> shards,
                     std::int32_t devices) {
  if (written == nullptr || engine_kernel(*written)) return check_sharding(table, shards, devices);
  const Result<ComputeKernel> word = parse_compute_kernel(written->compute_kernel);
  if (!table.kernels.all() && !(word.ok() && table.kernels.allows(*word))) {
    return invalid_input("found the kernel " + written->compute_kernel + ", it may have " +
                         describe(table.kernels));
  }
  table.kernels = {};
  return check_sharding(table, shards, devices);
}

/// Each table of those that are covered exactly: whether the target would run it and, if so,
/// whether the table allows it.
void check_tables(const PlanInput& input, const Workload& workload, const PlanPieces& pieces,
                  const Target& target, std::vector<PlanFault>& faults) {
  const ShardsByTable by_table(workload, pieces.document.plan);
  TableFaults told(workload.tables.size());
  if (target.lint != nullptr) {
    told = target.lint->tables(
        {input, pieces, workload, by_table, target.devices, target.devices_per_host});
  }
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    const auto number = static_cast<std::int32_t>(index);
    if (pieces.unusable.count(number) > 0) continue;
    if (told[index].empty()) {
      const auto found = pieces.torchrec.find(number);
      const TorchRecTable* written = found == pieces.torchrec.end() ? nullptr : found->second;
      const Status allowed =
          check_allowed(written, workload.tables[index], by_table.of(index), target.devices);
      if (!allowed.ok()) told[index].push_back(allowed.message());
    }
    for (const std::string& fault : told[index]) {
      faults.push_back({false, describe_table(workload, number) + ": " + fault});
    }
  }
}

/// Whether a table has rows elsewhere and perhaps a cache of them that nobody knows the size of.
bool uncounted(const TorchRecTable& written) {
  return torchrec_rows_elsewhere(written.compute_kernel) && !engine_kernel(written);
}

/// `what`: "device" or "host".
void check_each(const std::vector<std::int64_t>& bytes, const std::string& what, std::int64_t limit,
                std::vector<PlanFault>& faults) {
  if (limit == 0) return;
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    if (bytes[index] <= limit) continue;
    faults.push_back({true, what + " " + std::to_string(index) + " holds " +
                                format_bytes_apart(bytes[index], limit) + ", " + what + "s have " +
                                format_bytes_apart(limit, bytes[index])});
  }
}

/// Against the limits, with the plan's kernels and without tables that are uncounted().
Status check_memory(const Workload& workload, const PlanPieces& pieces, const Target& target,
                    const PlanRules& rules, std::vector<PlanFault>& faults) {
  const StepBuffers buffers = rules.buffers.value_or(pieces.document.buffers);
  NEUROSHARD_RETURN_IF_ERROR(
      check_step_memory(workload, {buffers, workload.batch_size, target.devices}));
  Plan counted = pieces.document.plan;
  std::erase_if(counted.shards, [&](const Shard& shard) {
    const auto written = pieces.torchrec.find(shard.table);
    return written != pieces.torchrec.end() && uncounted(*written->second);
  });
  check_each(device_bytes(workload, counted, buffers), "device", rules.memory_limit, faults);
  const std::int32_t host = host_size(target.devices, target.devices_per_host);
  check_each(host_bytes(workload, counted, host), "host", rules.host_memory_limit, faults);
  return {};
}

}  // namespace

std::vector<std::string> lint_targets() {
  std::vector<std::string> names;
  for (const PlanFormat& format : plan_formats()) {
    if (format.lint != nullptr) names.emplace_back(format.name);
  }
  return names;
}

Result<std::vector<PlanFault>> lint_plan(const PlanInput& input, const Workload& workload,
                                         const PlanRules& rules) {
  NEUROSHARD_ASSIGN_OR_RETURN(PlanPieces pieces,
                              take_apart(input, workload, rules.devices, UnknownTables::kFault));
  Plan& plan = pieces.document.plan;
  NEUROSHARD_ASSIGN_OR_RETURN(const Target target, choose_target(input, rules, pieces.document));
  std::vector<PlanFault> faults;
  for (std::string& fault : pieces.faults) faults.push_back({false, std::move(fault)});
  if (target.lint != nullptr && target.lint->places != nullptr) {
    for (std::string& fault :
         target.lint->places(input, pieces.document.places, rules.devices_per_host)) {
      faults.push_back({false, std::move(fault)});
    }
  }
  const ExchangeFormat& exchange = pieces.document.exchange;
  if (target.lint != nullptr && !target.lint->takes_exchange && !is_exact(exchange)) {
    faults.push_back({false, "exchange: found " + to_string(exchange) +
                                 ", expected fp32: its file has no place for another"});
  }
  // Tables whose fault is told already must not be called uncovered as well.
  for (const std::int32_t index : pieces.unusable) {
    plan.shards.push_back(whole_table(workload, index, 0));
    pieces.names.shards.emplace_back();
  }
  // Before canonicalize(): shards are named by their place in the file.
  const std::vector<Status> shapes = find_faults(workload, plan, pieces.names);
  for (const Status& status : shapes) faults.push_back({false, status.message()});
  // Rules of a target and memory are about plans that place every cell once, on a device.
  if (!shapes.empty() || !input.faults.empty()) return faults;
  canonicalize(plan);
  check_tables(input, workload, pieces, target, faults);
  if (pieces.unusable.empty()) {
    NEUROSHARD_RETURN_IF_ERROR(check_memory(workload, pieces, target, rules, faults));
  }
  return faults;
}

std::string uncounted_memory(const PlanInput& input) {
  const auto* torchrec = std::get_if<TorchRecPlan>(&input.content);
  if (torchrec == nullptr) return {};
  std::set<std::string> kernels;
  int tables = 0;
  for (const TorchRecTable& table : torchrec->tables) {
    if (!uncounted(table)) continue;
    kernels.insert(table.compute_kernel);
    ++tables;
  }
  if (tables == 0) return {};
  std::string with;
  for (const std::string& kernel : kernels) with += (with.empty() ? "" : ", ") + kernel;
  return input.source + ": " + std::to_string(tables) + " of " +
         std::to_string(torchrec->tables.size()) + " tables " + (tables == 1 ? "is" : "are") +
         " not counted in any memory: with " + with +
         ", rows are in host memory or on SSD, and the plan does not say how large a cache of them "
         "the device has, if any";
}

}  // namespace neuroshard::io
