#include "io/benchmark/benchmark_folder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/fit_index_law.h"
#include "engine/core/thread_pool.h"
#include "io/benchmark/benchmark_json.h"
#include "io/benchmark/drawn_indices.h"
#include "io/benchmark/pytorch_steps.h"
#include "io/benchmark/scripts.h"
#include "io/json/json_writer.h"
#include "io/tables/table_forms.h"

namespace neuroshard::io {
namespace {

using Layout = JsonWriter::Layout;
using Integers = std::vector<std::int64_t>;

bool travels(Precision precision) {
  return precision == Precision::kFp32 || precision == Precision::kFp16 ||
         precision == Precision::kBf16;
}

Status check_table_carried(const Table& table, const std::string& label) {
  std::string found;
  if (!table.pooled) found = "lookups that are not pooled";
  if (table.weighted) found = "lookups with weights";
  if (table.features > 1) found = std::to_string(table.features) + " features";
  if (table.data_type == DataType::kInt8 || table.data_type == DataType::kBf16) {
    found = to_string(table.data_type);
  }
  if (found.empty()) return {};
  return invalid_input(label + ": found " + found +
                       ", expected one pooled feature without weights, in fp32 or fp16: a "
                       "benchmark draws and runs no others");
}

/// What has no place in the script or among drawn lookups.
Status check_carried(const Workload& workload, const PlanDocument& document) {
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    NEUROSHARD_RETURN_IF_ERROR(check_table_carried(
        workload.tables[index], table_label(workload, static_cast<std::int32_t>(index))));
  }
  for (const Shard& shard : document.plan.shards) {
    if (shard.dim() % kFbgemmColumns == 0) continue;
    return invalid_input(table_label(workload, shard.table) + ": found a shard of " +
                         std::to_string(shard.dim()) + " columns, expected a multiple of " +
                         std::to_string(kFbgemmColumns) + ", as FBGEMM reads them");
  }
  const ExchangeFormat& exchange = document.exchange;
  if (!travels(exchange.forward) || !travels(exchange.backward)) {
    return invalid_input("exchange: found " + to_string(exchange) +
                         ", expected fp32, fp16 or bf16: a benchmark has no codec for others");
  }
  if (document.batch_size < document.plan.devices) {
    return invalid_input("batch size: found " + std::to_string(document.batch_size) +
                         ", expected a sample for each of " +
                         std::to_string(document.plan.devices) + " ranks at least");
  }
  return {};
}

/// The files of one benchmark.
class BenchmarkWriter {
 public:
  BenchmarkWriter(const Workload& workload, const PlanDocument& document,
                  const PlanExportOptions& options, const FolderSink& sink)
      : workload_(workload), document_(document), options_(options), sink_(sink) {}

  Status write() {
    lookups_.assign(document_.plan.shards.size(), 0);
    NEUROSHARD_RETURN_IF_ERROR(write_drawn_indices(
        workload_, document_.batch_size, options_.draw_lookups,
        [&](std::int32_t table, const Integers& indices) { count_lookups(table, indices); },
        sink_));
    NEUROSHARD_RETURN_IF_ERROR(fit_laws());
    for (std::int32_t rank = 0; rank < document_.plan.devices; ++rank) {
      NEUROSHARD_RETURN_IF_ERROR(write_tables_of(rank));
    }
    NEUROSHARD_RETURN_IF_ERROR(sink_(kBenchmarkFile, format_benchmark()));
    NEUROSHARD_RETURN_IF_ERROR(write_scripts({"fused_lookup", "plan_data", "run_plan"}, sink_));
    for (std::int32_t rank = 0; rank < document_.plan.devices; ++rank) {
      NEUROSHARD_RETURN_IF_ERROR(sink_("pytorch_et/rank-" + std::to_string(rank) + ".json",
                                       format_pytorch_step(document_, lookups_, rank)));
    }
    return {};
  }

 private:
  void count_lookups(std::int32_t table, const Integers& indices) {
    for (std::size_t k = 0; k < document_.plan.shards.size(); ++k) {
      const Shard& shard = document_.plan.shards[k];
      if (shard.table != table) continue;
      lookups_[k] = std::count_if(indices.begin(), indices.end(), [&](std::int64_t row) {
        return row >= shard.row_begin && row < shard.row_end;
      });
    }
  }

  /// What a rank has of the table: all rows and columns of the shard and its share of the lookups.
  [[nodiscard]] Table part_of(const Shard& shard) const {
    Table part = workload_.tables[static_cast<std::size_t>(shard.table)];
    if (shard.device == kEveryDevice) {
      const double lookups = static_cast<double>(document_.batch_size) * part.pooling_factor;
      part.reuse_histogram =
          thinned_reuse(part.reuse_histogram, lookups, part.rows, 1.0 / document_.plan.devices);
      part.pooling_factor /= document_.plan.devices;
    } else {
      part.pooling_factor *= static_cast<double>(shard.rows()) / static_cast<double>(part.rows);
    }
    part.rows = shard.rows();
    part.dim = shard.dim();
    return part;
  }

  /// Each once for all shards of a table that have as many rows, on all processors.
  Status fit_laws() {
    std::vector<std::pair<Table, FittedLaw*>> parts;
    for (const Shard& shard : document_.plan.shards) {
      const auto [place, is_new] = laws_.try_emplace({shard.table, shard.rows()});
      if (is_new) parts.emplace_back(part_of(shard), &place->second);
    }
    ThreadPool pool(0);
    pool.parallel_for(std::ssize(parts), [&](std::int64_t index, int) {
      if (is_cancelled()) return;
      const auto& [part, law] = parts[static_cast<std::size_t>(index)];
      const double lookups = static_cast<double>(document_.batch_size) * part.pooling_factor;
      *law = fit_index_law(part.reuse_histogram, lookups, part.rows);
    });
    return is_cancelled() ? cancelled("interrupted: nothing is written") : Status();
  }

  [[nodiscard]] bool is_cancelled() const {
    return options_.cancel != nullptr && options_.cancel->cancelled();
  }

  Status write_tables_of(std::int32_t rank) const {
    std::vector<Table> tables;
    std::vector<IndexLaw> laws;
    for (const Shard& shard : document_.plan.shards) {
      if (shard.device != rank && shard.device != kEveryDevice) continue;
      tables.push_back(part_of(shard));
      laws.push_back(laws_.at({shard.table, shard.rows()}).law);
    }
    if (tables.empty()) return {};
    return sink_("rank_" + std::to_string(rank) + ".json",
                 format_tbe_config(tables, laws, document_.batch_size));
  }

  [[nodiscard]] std::string format_benchmark() const {
    JsonWriter json;
    begin_benchmark(json);
    json.key("ranks").integer(document_.plan.devices);
    json.key("batch_size").integer(document_.batch_size);
    json.key("lookup_seed").unsigned_integer(options_.lookup_seed);
    json.key("dense_ms").number(options_.dense_ms);
    json.key("exchange").begin_object(Layout::kLine);
    json.key("forward").text(to_string(document_.exchange.forward));
    json.key("backward").text(to_string(document_.exchange.backward)).end_object();
    json.key("tables").begin_array();
    for (std::size_t index = 0; index < workload_.tables.size(); ++index) {
      write_table(json, index);
    }
    json.end_array().key("shards").begin_array();
    for (const Shard& shard : document_.plan.shards) write_shard(json, shard);
    json.end_array().key("predicted").begin_object();
    const PlanProvenance& made = document_.provenance;
    json.key("cost_model").text(made.cost_model).key("hardware").text(made.hardware);
    json.key("cost_provenance").text(made.cost_provenance);
    json.key("cost_ms").number(document_.cost.cost_ms).key("ranks").begin_array();
    for (const DeviceCost& cost : document_.cost.per_device) {
      json.begin_object(Layout::kLine).key("compute_ms").number(cost.compute_ms);
      json.key("forward_exchange_ms").number(cost.forward_comm_ms);
      json.key("backward_exchange_ms").number(cost.backward_comm_ms).end_object();
    }
    json.end_array().end_object().end_object();
    return json.take();
  }

  void write_table(JsonWriter& json, std::size_t index) const {
    const auto number = static_cast<std::int32_t>(index);
    double away = 0;  // of the worst of its shards
    for (auto law = laws_.lower_bound({number, 0});
         law != laws_.end() && law->first.first == number; ++law) {
      away = std::max(away, law->second.distance);
    }
    begin_table(json, workload_.tables[index]);
    json.key("law_distance").number(std::round(1e4 * away) / 1e4).end_object();
  }

  static void write_shard(JsonWriter& json, const Shard& shard) {
    json.begin_object(Layout::kLine).key("table").integer(shard.table).key("rank");
    if (shard.device == kEveryDevice) {
      json.text("all");
    } else {
      json.integer(shard.device);
    }
    write_cells(json, shard);
    if (shard.kernel.load_factor > 0) json.key("load_factor").number(shard.kernel.load_factor);
    json.end_object();
  }

  const Workload& workload_;
  const PlanDocument& document_;
  const PlanExportOptions& options_;
  const FolderSink& sink_;
  Integers lookups_;  ///< of each shard, in the global batch
  std::map<std::pair<std::int32_t, std::int64_t>, FittedLaw> laws_;  ///< by table and rows
};

}  // namespace

Status write_benchmark(const Workload& workload, const PlanDocument& document,
                       const PlanExportOptions& options, const FolderSink& sink) {
  NEUROSHARD_RETURN_IF_ERROR(check_carried(workload, document));
  if (!options.draw_lookups) return internal_error("benchmark: nobody draws its lookups");
  return BenchmarkWriter(workload, document, options, sink).write();
}

}  // namespace neuroshard::io
