#include <string>
#include <utility>
#include <vector>

#include "engine/ground_truth/collect.h"
#include "engine/ground_truth/collect_directory.h"
#include "engine/ground_truth/collect_samples.h"
#include "engine/ground_truth/measure.h"
#include "engine/ground_truth/random_placement.h"
#include "engine/ground_truth/random_sets.h"
#include "engine/ground_truth/shard_pool.h"
#include "io/cost_data/cost_data.h"
#include "io/tables/reference_tables.h"

namespace neuroshard {
namespace {

/// What the exchange of a placement moves, and the compute times that stagger it.
struct PlacedDevices {
  std::vector<std::int64_t> dims;
  std::vector<double> compute_ms;
};

Result<PlacedDevices> measure_devices(GroundTruth& truth, const ShardPool& pool,
                                      const Placement& placement, std::int64_t batch_size) {
  PlacedDevices devices;
  for (const std::vector<std::int32_t>& ids : placement) {
    Workload workload{{}, batch_size};
    std::vector<Shard> shards;
    std::int64_t dims = 0;
    for (const std::int32_t id : ids) {
      pool.add(id, workload, shards);
      dims += pool.columns_sent(id);
    }
    NEUROSHARD_ASSIGN_OR_RETURN(const ComputeTime time, truth.measure_compute(workload, shards));
    devices.dims.push_back(dims);
    devices.compute_ms.push_back(time.total_ms);
  }
  return devices;
}

}  // namespace

Result<CollectReport> collect_comm(GroundTruth& truth, const CollectOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(check_options(options));
  io::Collection settings = settings_of(io::CollectionKind::kComm, truth, options);
  settings.devices = options.devices;
  NEUROSHARD_ASSIGN_OR_RETURN(io::AppendLog log, open_collection(options.output, settings, ""));
  return collect_lines(std::move(log), options, [&](std::int64_t sample) -> Result<std::string> {
    ExchangeSample exchange = draw_exchange(options.seed, sample, options.devices, options.max_dim);
    NEUROSHARD_ASSIGN_OR_RETURN(
        CommTime time,
        truth.measure_all_to_all(exchange.dims, exchange.starts_ms, options.batch_size));
    return io::format_line(io::CommSample{std::move(exchange.dims), std::move(exchange.starts_ms),
                                          std::move(time.forward_ms), std::move(time.backward_ms)});
  });
}

Result<CollectReport> collect_comm(GroundTruth& truth, const std::vector<Table>& tables,
                                   const CollectOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(check_options(options));
  NEUROSHARD_ASSIGN_OR_RETURN(const ShardPool pool, make_pool(truth, tables, options));
  NEUROSHARD_ASSIGN_OR_RETURN(const PlacementDraw draw,
                              PlacementDraw::make(pool.entries, options.devices, options.max_tables,
                                                  options.max_memory_bytes));
  io::Collection settings = settings_of(io::CollectionKind::kComm, truth, options);
  settings.devices = options.devices;
  add_pool_settings(pool, options, settings);
  NEUROSHARD_ASSIGN_OR_RETURN(
      io::AppendLog log,
      open_collection(options.output, settings, io::format_reference_tables(pool.entries)));
  return collect_lines(std::move(log), options, [&](std::int64_t sample) -> Result<std::string> {
    NEUROSHARD_ASSIGN_OR_RETURN(
        PlacedDevices devices,
        measure_devices(truth, pool, draw.draw(options.seed, sample), options.batch_size));
    NEUROSHARD_ASSIGN_OR_RETURN(
        const io::CommSample measured,
        measure_exchange(truth, std::move(devices.dims), devices.compute_ms, options.batch_size));
    return io::format_line(measured);
  });
}

}  // namespace neuroshard
