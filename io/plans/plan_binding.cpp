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

void add_told(const std::string& source, const NumberedTables& told, PlanPieces& pieces) {
  pieces.faults.insert(pieces.faults.end(), told.faults.begin(), told.faults.end());
  for (const std::string& note : told.notes) pieces.notes.push_back(source + ": " + note);
}

/// Of one of our own plans, whose shards messages call by their places in the file.
void take_native(const PlanInput& input, const PlanDocument& native, const Workload& workload,
                 UnknownTables unknown, PlanPieces& pieces) {
  pieces.document = native;
  pieces.faults = input.faults;
  const NumberedTables told = number_by_names(workload, unknown, pieces.document);
  add_told(input.source, told, pieces);
  for (const std::size_t place : told.kept) {
    pieces.names.shards.push_back("shards[" + std::to_string(place) + "]");
  }
}

}  // namespace

Result<PlanPieces> take_apart(const PlanInput& input, const Workload& workload,
                              std::int32_t devices, UnknownTables unknown) {
  PlanPieces pieces;
  NEUROSHARD_ASSIGN_OR_RETURN(pieces.document.plan.devices, device_count(input, devices));
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    pieces.names.tables.push_back(describe_table(workload, static_cast<std::int32_t>(index)));
  }
  if (const auto* native = std::get_if<PlanDocument>(&input.content)) {
    take_native(input, *native, workload, unknown, pieces);
    return pieces;
  }
  pieces.document.batch_size = workload.batch_size;
  pieces.document.setting.table_names = names_for_plan(workload);
  NEUROSHARD_ASSIGN_OR_RETURN(const auto names, tables_by_name(workload));
  std::vector<std::string> not_found;
  const auto find = [&](const std::string& name) {
    const auto place = names.find(name);
    if (place != names.end()) return place->second;
    not_found.push_back(name);
    return std::int32_t{-1};
  };
  const auto tell_not_found = [&](std::size_t tables) {
    NumberedTables told;
    tell_unknown(not_found, tables - not_found.size(), unknown, told);
    add_told(input.source, told, pieces);
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
    tell_not_found(torchrec->tables.size());
    return pieces;
  }
  const auto& hugectr = std::get<HugeCtrPlan>(input.content);
  for (const HugeCtrTable& written : hugectr.tables) {
    const std::int32_t index = find(written.name);
    if (index < 0) continue;
    add_hugectr_shards(written, table_of(index), index, hugectr.devices, pieces);
  }
  tell_not_found(hugectr.tables.size());
  note_modulo(hugectr, pieces);
  return pieces;
}

}  // namespace neuroshard::io
