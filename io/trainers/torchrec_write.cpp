#include <algorithm>
#include <map>

#include "io/json/json_writer.h"
#include "io/plans/plan_cost_json.h"
#include "io/plans/plan_json.h"
#include "io/plans/plan_tables.h"
#include "io/trainers/torchrec_columns.h"
#include "io/trainers/torchrec_plan.h"

namespace neuroshard::io {
namespace {

/// What the writer needs of the cluster, and the writer.
struct Target {
  const Plan& plan;
  const PlanExportOptions& options;
  std::int32_t host;
  JsonWriter& writer;
  SequenceColumns& sequences;
};

/// "rank:9/cuda:1": the rank and its device on its host.
std::string placement(const Target& target, std::int32_t rank) {
  const std::string& device = target.options.trainer_device;
  const std::string local = device == "cpu" ? "" : ":" + std::to_string(rank % target.host);
  return "rank:" + std::to_string(rank) + "/" + device + local;
}

void write_shard(const Target& target, const Shard& shard) {
  target.writer.begin_object(JsonWriter::Layout::kLine);
  target.writer.key("shard_offsets").begin_array();
  target.writer.integer(shard.row_begin).integer(shard.column_begin).end_array();
  target.writer.key("shard_sizes").begin_array();
  target.writer.integer(shard.rows()).integer(shard.dim()).end_array();
  target.writer.key("placement").text(placement(target, shard.device));
  target.writer.end_object();
}

/// TorchRec's row types want a shard for every device of their group: those at the end that hold
/// no rows get shards of 0 rows.
std::vector<Shard> with_empty_shards(const Target& target, std::string_view type,
                                     std::span<const Shard> shards) {
  std::vector<Shard> all;
  if (type != "row_wise" && type != "table_row_wise" && type != "grid_shard")
    return {shards.begin(), shards.end()};
  const std::int32_t group = type == "row_wise" ? target.plan.devices : target.host;
  for (const std::vector<Shard>& block : column_blocks(shards)) {
    all.insert(all.end(), block.begin(), block.end());
    for (Shard empty = block.back(); (empty.device + 1) % group != 0;) {
      ++empty.device;
      empty.row_begin = empty.row_end;
      all.push_back(empty);
    }
  }
  return all;
}

/// `all` are the shards with_empty_shards() gives.
void write_table(const Target& target, std::string_view type, const TableKernel& kernel,
                 std::span<const Shard> all) {
  JsonWriter& writer = target.writer;
  const bool replicated = type == "data_parallel";
  writer.begin_object();
  writer.key("sharding_type").text(type);
  writer.key("compute_kernel").text(torchrec_kernel(type, kernel));
  if (kernel.kernel == ComputeKernel::kFusedUvmCaching) {
    writer.key("cache_params").begin_object(JsonWriter::Layout::kLine);
    writer.key("load_factor").number(kernel.load_factor).end_object();
  }
  writer.key("ranks").begin_array(JsonWriter::Layout::kLine);
  if (replicated) {
    for (std::int32_t rank = 0; rank < target.plan.devices; ++rank) writer.integer(rank);
    writer.end_array().end_object();
    return;
  }
  for (const Shard& shard : all) writer.integer(shard.device);
  writer.end_array();
  writer.key("shards").begin_array();
  for (const Shard& shard : all) write_shard(target, shard);
  writer.end_array().end_object();
}

/// The table under its name, or why TorchRec cannot hold it so.
Status write_named_table(const Target& target, const Workload& workload, std::string_view module,
                         std::int32_t index, std::span<const Shard> shards) {
  const Table& table = workload.tables[static_cast<std::size_t>(index)];
  const Result<std::string_view> type =
      torchrec_sharding_type(table, shards, target.plan.devices, target.options.devices_per_host);
  if (!type.ok()) return type.status().with_context(describe_table(workload, index));
  const std::vector<Shard> all = with_empty_shards(target, *type, shards);
  const bool cpu = target.options.trainer_device == "cpu";
  if (cpu && all.size() != shards.size()) {
    return invalid_input(describe_table(workload, index) + ": " + torchrec_empty_rank(*type));
  }
  std::string fault = target.sequences.add(module, table, *type, shards);
  const std::string_view kernel = torchrec_kernel(*type, shards[0].kernel);
  if (cpu && fault.empty()) fault = torchrec_fault_on_cpu(table, *type, kernel);
  if (!fault.empty()) return invalid_input(describe_table(workload, index) + ": " + fault);
  target.writer.key(table.name);
  write_table(target, *type, shards[0].kernel, all);
  return {};
}

/// What the engine's own reader needs to know and TorchRec has no place for.
void write_origin(const Target& target, const PlanDocument& document) {
  JsonWriter& writer = target.writer;
  writer.key("neuroshard").begin_object();
  writer.key("devices").integer(document.plan.devices);
  writer.key("devices_per_host").integer(target.host);
  writer.key("batch_size").integer(document.batch_size);
  write_exchange(writer, document.exchange);
  if (document.provenance != PlanProvenance{}) {
    writer.key("provenance");
    write_provenance(writer, document.provenance);
  }
  writer.end_object();
}

/// One embedding module and its tables.
struct Module {
  std::string_view name;
  std::vector<std::size_t> tables;
};

/// In the order of their first tables. Error: a table in the model itself beside tables in modules
/// of it: TorchRec would not look for those.
Result<std::vector<Module>> modules_of(const Workload& workload,
                                       const std::vector<std::string>& names) {
  std::vector<Module> modules;
  std::map<std::string_view, std::size_t> places_of;
  for (std::size_t table = 0; table < workload.tables.size(); ++table) {
    const std::string_view name = names.empty() ? std::string_view() : names[table];
    const auto [place, inserted] = places_of.emplace(name, modules.size());
    if (inserted) modules.push_back({name, {}});
    modules[place->second].tables.push_back(table);
  }
  const auto model = places_of.find("");
  if (model != places_of.end() && modules.size() > 1) {
    const std::size_t table = modules[model->second].tables.front();
    return invalid_input(describe_table(workload, static_cast<std::int32_t>(table)) +
                         ": found no module, expected one as for the other tables");
  }
  return modules;
}

}  // namespace

std::vector<std::string> torchrec_modules(std::size_t tables, const TrainerPlaces& places,
                                          const PlanExportOptions& options) {
  if (!options.module.empty()) return std::vector<std::string>(tables, options.module);
  if (places.modules.empty() && options.table_modules.empty()) return {};
  std::vector<std::string> modules = options.table_modules;
  modules.resize(tables);
  for (std::size_t table = 0; table < std::min(tables, places.modules.size()); ++table) {
    if (places.modules[table]) modules[table] = *places.modules[table];
  }
  return modules;
}

Result<std::string> format_torchrec_plan(const Workload& workload, const PlanDocument& document,
                                         const PlanExportOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(tables_by_name(workload).status());
  const Plan plan = torchrec_plan(document.plan);
  const ShardsByTable by_table(workload, plan);
  JsonWriter writer;
  SequenceColumns sequences;
  const Target target{plan, options, host_size(plan.devices, options.devices_per_host), writer,
                      sequences};
  const std::vector<std::string> names =
      torchrec_modules(workload.tables.size(), document.places, options);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<Module> modules, modules_of(workload, names));
  writer.begin_object();
  writer.key("plan").begin_object();
  for (const Module& module : modules) {
    writer.key(module.name).begin_object();
    for (const std::size_t table : module.tables) {
      NEUROSHARD_RETURN_IF_ERROR(write_named_table(
          target, workload, module.name, static_cast<std::int32_t>(table), by_table.of(table)));
    }
    writer.end_object();
  }
  writer.end_object();
  write_origin(target, document);
  writer.end_object();
  return writer.take();
}

}  // namespace neuroshard::io
