#include "io/plans/plan_binding.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "io/plans/plan_tables.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

Result<std::int32_t> device_count(const PlanInput& input, std::int32_t devices) {
  const std::int32_t own = input.devices();
  if (own == 0 && devices == 0) {
    return invalid_input(input.source +
                         ": found no number of devices, a TorchRec plan does not hold it: expected "
                         "it beside the file (--devices)");
  }
  if (own != 0 && devices != 0 && own != devices) {
    return invalid_input(input.source + ": found a plan for " + std::to_string(own) +
                         " devices, expected one for " + std::to_string(devices));
  }
  return own != 0 ? own : devices;
}

/// `name`: what messages call the shard.
void add_shard(const Shard& shard, std::string name, PlanPieces& pieces) {
  pieces.document.plan.shards.push_back(shard);
  pieces.names.shards.push_back(std::move(name));
}

void add_torchrec_shards(const TorchRecTable& written, const Table& table, std::int32_t index,
                         PlanPieces& pieces) {
  const std::string name = "table " + excerpt(written.name) +
                           (written.module.empty() ? "" : " of module " + excerpt(written.module));
  if (written.sharding_type == "data_parallel") {
    add_shard({index, 0, table.rows, 0, table.dim, kEveryDevice}, name, pieces);
    return;
  }
  const TableKernel kernel = engine_kernel(written).value_or(TableKernel{});
  for (std::size_t place = 0; place < written.shards.size(); ++place) {
    Shard shard = written.shards[place];
    shard.table = index;
    shard.kernel = kernel;
    // Row types have a shard for every rank, of 0 rows where it holds none.
    if (shard.rows() == 0) continue;
    add_shard(shard, name + ", shards[" + std::to_string(place) + "]", pieces);
  }
}

void add_hugectr_shards(const HugeCtrTable& written, const Table& table, std::int32_t index,
                        std::int32_t devices, PlanPieces& pieces) {
  for (const std::string& fault : hugectr_faults(written, table, devices)) {
    pieces.faults.push_back("table " + excerpt(written.name) + ": " + fault);
    pieces.unusable.insert(index);
  }
  if (pieces.unusable.count(index) > 0) return;
  for (const Shard& shard : hugectr_shards(written, table, index)) {
    add_shard(shard, "table " + excerpt(written.name), pieces);
  }
}

/// Says once that rows of such tables are not where a plan has them.
void note_modulo(const HugeCtrPlan& plan, PlanPieces& pieces) {
  const auto dealt = [](const HugeCtrTable& table) {
    return !table.data_parallel && std::ssize(table.gpus) > table.column_factor;
  };
  const auto first = std::find_if(plan.tables.begin(), plan.tables.end(), dealt);
  if (first == plan.tables.end()) return;
  const auto rest = std::count_if(first + 1, plan.tables.end(), dealt);
  pieces.notes.push_back("table " + excerpt(first->name) +
                         and_more(static_cast<std::size_t>(rest)) +
                         ": rows by key modulo read as contiguous blocks of the same sizes");
}

/// Has the shards of a plan that names its tables count them as the workload does, where it has all
/// of them: it may have them in another order, or others between them. Where it lacks one, places
/// in the file are all that there is to go by, and a note says so.
void number_by_names(const std::string& source, const Workload& workload, PlanPieces& pieces) {
  std::vector<std::string> names = std::move(pieces.document.setting.table_names);
  pieces.document.setting.table_names.clear();
  const auto known = tables_by_name(workload);
  if (names.empty() || !known.ok()) return;
  std::vector<std::int32_t> now;
  for (std::size_t index = 0; index < names.size(); ++index) {
    const auto place = known->find(names[index]);
    if (place == known->end()) {
      pieces.notes.push_back(source + ": has a table " + excerpt(names[index]) +
                             ", which is not among the tables given: its tables are taken in "
                             "their order");
      return;
    }
    now.push_back(place->second);
  }
  for (Shard& shard : pieces.document.plan.shards) {
    const auto table = static_cast<std::size_t>(shard.table);
    if (shard.table >= 0 && table < now.size()) shard.table = now[table];
  }
}

}  // namespace

Result<PlanPieces> take_apart(const PlanInput& input, const Workload& workload,
                              std::int32_t devices) {
  PlanPieces pieces;
  NEUROSHARD_ASSIGN_OR_RETURN(pieces.document.plan.devices, device_count(input, devices));
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    pieces.names.tables.push_back(describe_table(workload, static_cast<std::int32_t>(index)));
  }
  if (const auto* native = std::get_if<PlanDocument>(&input.content)) {
    pieces.document = *native;
    pieces.faults = input.faults;
    number_by_names(input.source, workload, pieces);
    return pieces;
  }
  pieces.document.batch_size = workload.batch_size;
  NEUROSHARD_ASSIGN_OR_RETURN(const auto names, tables_by_name(workload));
  const auto find = [&](const std::string& name) {
    const auto place = names.find(name);
    if (place != names.end()) return place->second;
    pieces.faults.push_back("table " + excerpt(name) + " is not among the tables given");
    return std::int32_t{-1};
  };
  const auto table_of = [&](std::int32_t index) -> const Table& {
    return workload.tables[static_cast<std::size_t>(index)];
  };
  if (const auto* torchrec = std::get_if<TorchRecPlan>(&input.content)) {
    pieces.document.exchange = torchrec->exchange;
    pieces.document.provenance = torchrec->provenance;
    TrainerPlaces& places = pieces.document.places;
    places = torchrec_places(*torchrec, pieces.document.plan.devices);
    places.modules.resize(workload.tables.size());
    for (const TorchRecTable& written : torchrec->tables) {
      const std::int32_t index = find(written.name);
      if (index < 0) continue;
      places.modules[static_cast<std::size_t>(index)] = written.module;
      pieces.torchrec.emplace(index, &written);
      add_torchrec_shards(written, table_of(index), index, pieces);
    }
    return pieces;
  }
  const auto& hugectr = std::get<HugeCtrPlan>(input.content);
  for (const HugeCtrTable& written : hugectr.tables) {
    const std::int32_t index = find(written.name);
    if (index < 0) continue;
    add_hugectr_shards(written, table_of(index), index, hugectr.devices, pieces);
  }
  note_modulo(hugectr, pieces);
  return pieces;
}

}  // namespace neuroshard::io
