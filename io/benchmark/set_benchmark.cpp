#include "io/benchmark/set_benchmark.h"

#include "io/benchmark/benchmark_json.h"
#include "io/benchmark/drawn_indices.h"
#include "io/benchmark/scripts.h"
#include "io/json/json_writer.h"
#include "io/tables/reference_tables.h"

namespace neuroshard::io {
namespace {

using Layout = JsonWriter::Layout;

void write_tables(const std::vector<Table>& tables, JsonWriter& json) {
  json.key("tables").begin_array();
  for (const Table& table : tables) {
    begin_table(json, table);
    json.end_object();
  }
  json.end_array();
}

void write_shards(const std::vector<Shard>& shards, JsonWriter& json) {
  json.key("shards").begin_array();
  for (const Shard& shard : shards) {
    json.begin_object(Layout::kLine).key("table").integer(shard.table);
    write_cells(json, shard);
    json.end_object();
  }
  json.end_array();
}

std::string format_benchmark(const SetBenchmark& benchmark) {
  JsonWriter json;
  begin_benchmark(json);
  json.key("batch_size").integer(benchmark.workload.batch_size);
  json.key("seed").unsigned_integer(benchmark.seed);
  json.key("flags").begin_object();
  for (const auto& [name, value] : benchmark.flags) json.key(name).text(value);
  json.end_object();
  write_tables(benchmark.workload.tables, json);
  write_shards(benchmark.shards, json);
  json.key("sets").begin_array();
  for (const SetBenchmark::Set& set : benchmark.sets) {
    json.begin_array(Layout::kLine);
    for (const std::int32_t shard : set.shards) json.integer(shard);
    json.end_array();
  }
  json.end_array().key("predicted").begin_object();
  json.key("cost_model").text(benchmark.cost_model).key("hardware").text(benchmark.cost_hardware);
  json.key("cost_provenance").text(benchmark.cost_provenance);
  json.key("candidates").integer(benchmark.candidates);
  json.key("median_spread_ms").number(benchmark.median_spread_ms).key("sets").begin_array();
  for (const SetBenchmark::Set& set : benchmark.sets) {
    json.begin_object(Layout::kLine).key("compute_ms").number(set.compute_ms);
    json.key("spread_ms").number(set.spread_ms).end_object();
  }
  json.end_array().end_object().end_object();
  return json.take();
}

}  // namespace

Status write_set_benchmark(const SetBenchmark& benchmark, const PlanExportOptions& options,
                           const FolderSink& sink) {
  NEUROSHARD_RETURN_IF_ERROR(write_drawn_indices(
      benchmark.workload, benchmark.workload.batch_size, options.draw_lookups,
      [](std::int32_t, const std::vector<std::int64_t>&) {}, sink));
  NEUROSHARD_RETURN_IF_ERROR(sink(kBenchmarkFile, format_benchmark(benchmark)));
  NEUROSHARD_RETURN_IF_ERROR(sink(kPoolFile, format_reference_tables(benchmark.pool)));
  return write_scripts({"fused_lookup", "plan_data", "run_sets"}, sink);
}

}  // namespace neuroshard::io
