#include "io/formats/trainer_lint.h"

#include <cstddef>
#include <span>
#include <utility>
#include <variant>

#include "io/trainers/hugectr_plan.h"
#include "io/trainers/torchrec_columns.h"
#include "io/trainers/torchrec_plan.h"

namespace neuroshard::io {
namespace {

std::vector<std::string> torchrec_places_of_file(const PlanInput& input,
                                                 const TrainerPlaces& places,
                                                 std::int32_t devices_per_host) {
  const auto* torchrec = std::get_if<TorchRecPlan>(&input.content);
  if (torchrec == nullptr) return {};
  return torchrec_place_faults(*torchrec, places, devices_per_host);
}

/// A table that a TorchRec file has in its words: as it is written and, where that is right, beside
/// the columns of others in its module and on the plan's kind of device.
std::vector<std::string> torchrec_faults_as_written(const LintedPlan& plan,
                                                    const TorchRecTable& written,
                                                    const Table& table,
                                                    std::span<const Shard> shards,
                                                    SequenceColumns& sequences) {
  std::vector<std::string> told =
      torchrec_faults(written, table, shards, plan.devices, plan.devices_per_host);
  if (!told.empty()) return told;
  std::string fault = sequences.add(written.module, table, written.sharding_type, shards);
  if (fault.empty() && plan.pieces.document.places.device == "cpu") {
    fault = torchrec_fault_on_cpu(table, written.sharding_type, written.compute_kernel);
  }
  if (!fault.empty()) told.push_back(std::move(fault));
  return told;
}

template <typename FaultsOf>
TableFaults of_usable_tables(const LintedPlan& plan, const FaultsOf& faults_of) {
  TableFaults faults(plan.workload.tables.size());
  for (std::size_t index = 0; index < faults.size(); ++index) {
    const auto number = static_cast<std::int32_t>(index);
    if (plan.pieces.unusable.count(number) > 0) continue;
    faults[index] = faults_of(number, plan.workload.tables[index], plan.shards.of(index));
  }
  return faults;
}

/// A refusal as a fault, if it is one.
std::vector<std::string> fault_of(const Status& status) {
  if (status.ok()) return {};
  return {status.message()};
}

TableFaults torchrec_tables(const LintedPlan& plan) {
  SequenceColumns sequences;
  return of_usable_tables(
      plan, [&](std::int32_t index, const Table& table, std::span<const Shard> shards) {
        const auto found = plan.pieces.torchrec.find(index);
        if (found == plan.pieces.torchrec.end()) {
          return fault_of(
              torchrec_sharding_type(table, shards, plan.devices, plan.devices_per_host).status());
        }
        return torchrec_faults_as_written(plan, *found->second, table, shards, sequences);
      });
}

TableFaults hugectr_tables(const LintedPlan& plan) {
  // Of its own files, the lists themselves are checked when they are taken apart.
  if (std::holds_alternative<HugeCtrPlan>(plan.input.content)) {
    return TableFaults(plan.workload.tables.size());
  }
  return of_usable_tables(plan,
                          [](std::int32_t, const Table& table, std::span<const Shard> shards) {
                            return fault_of(hugectr_table(table, shards).status());
                          });
}

}  // namespace

const TrainerLint kTorchRecLint{.places = torchrec_places_of_file, .tables = torchrec_tables};
const TrainerLint kHugeCtrLint{
    .places = nullptr, .tables = hugectr_tables, .takes_exchange = false};

}  // namespace neuroshard::io
