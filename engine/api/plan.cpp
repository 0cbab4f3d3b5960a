// Plans: made by hand, read, looked into and checked.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "engine/api/boundary.h"
#include "engine/api/handles.h"
#include "engine/api/inputs.h"
#include "engine/api/numbered_plan.h"
#include "engine/api/tables.h"
#include "engine/core/check_step_memory.h"
#include "engine/core/held_cells.h"
#include "engine/core/hot_rows.h"
#include "engine/core/offload.h"
#include "engine/core/plan_check.h"
#include "engine/core/step_memory.h"
#include "engine/planner/memory_limits.h"
#include "engine/planner/planner.h"
#include "io/file.h"
#include "io/plans/plan_tables.h"

namespace neuroshard::api {
namespace {

using PlanHandle = std::unique_ptr<neuroshard_plan>;

constexpr std::size_t kMaxShards = std::size_t{1} << 24;

Status wrong(std::size_t index, const char* field, std::int64_t found,
             const std::string& expected) {
  return invalid_input("shards[" + std::to_string(index) + "]." + field + ": found " +
                       std::to_string(found) + ", expected " + expected);
}

/// What the library calls 0 on the way in, and on the way out where every device holds the table:
/// there is no choice of kernels then.
constexpr std::int32_t kNoKernel = 0;

Result<TableKernel> read_kernel(const neuroshard_shard& shard, std::size_t index) {
  if (shard.kernel == kNoKernel && shard.cache_load_factor == 0) return TableKernel{};
  const auto kernels = all_compute_kernels();
  const auto kernel = std::find_if(kernels.begin(), kernels.end(), [&](ComputeKernel one) {
    return kernel_bit(one) == shard.kernel;
  });
  if (kernel == kernels.end() && shard.kernel != kNoKernel) {
    return wrong(index, "kernel", shard.kernel, "one of NEUROSHARD_KERNEL_.., or 0");
  }
  const TableKernel own{kernel == kernels.end() ? ComputeKernel::kFused : *kernel,
                        shard.cache_load_factor};
  NEUROSHARD_RETURN_IF_ERROR(
      validate(own).with_context("shards[" + std::to_string(index) + "].cache_load_factor"));
  if (own.offloaded() && shard.device == NEUROSHARD_EVERY_DEVICE) {
    return wrong(index, "kernel", shard.kernel, "FUSED or 0 on every device");
  }
  return own;
}

Status check_shard(const neuroshard_shard& shard, std::size_t index, std::int32_t devices) {
  if (shard.table < 0) return wrong(index, "table", shard.table, "0 or more");
  if (shard.row_begin < 0) return wrong(index, "row_begin", shard.row_begin, "0 or more");
  if (shard.row_end <= shard.row_begin) {
    return wrong(index, "row_end", shard.row_end, "more than row_begin");
  }
  if (shard.column_begin < 0) return wrong(index, "column_begin", shard.column_begin, "0 or more");
  if (shard.column_end <= shard.column_begin) {
    return wrong(index, "column_end", shard.column_end, "more than column_begin");
  }
  if (shard.device < NEUROSHARD_EVERY_DEVICE || shard.device >= devices) {
    return wrong(index, "device", shard.device,
                 "0 to " + std::to_string(devices - 1) + ", or NEUROSHARD_EVERY_DEVICE");
  }
  if (shard.reserved != 0) return wrong(index, "reserved", shard.reserved, "0");
  return {};
}

Result<PlanHandle> make(std::int32_t devices, std::int64_t batch_size,
                        const neuroshard_shard* shards, std::size_t count) {
  NEUROSHARD_RETURN_IF_ERROR(validate(Cluster{.devices = devices, .memory_bytes = 1}));
  if (batch_size < 1) {
    return invalid_input("batch_size: found " + std::to_string(batch_size) +
                         ", expected at least 1");
  }
  if (count > kMaxShards) {
    return invalid_input("count: found " + std::to_string(count) + ", expected at most " +
                         std::to_string(kMaxShards));
  }
  if (count > 0) NEUROSHARD_REQUIRE(shards);
  auto handle = std::make_unique<neuroshard_plan>();
  Plan& plan = handle->document.plan;
  plan.devices = devices;
  handle->document.batch_size = batch_size;
  plan.shards.reserve(count);
  for (std::size_t index = 0; index < count; ++index) {
    const neuroshard_shard& shard = shards[index];
    NEUROSHARD_RETURN_IF_ERROR(check_shard(shard, index, devices));
    NEUROSHARD_ASSIGN_OR_RETURN(const TableKernel kernel, read_kernel(shard, index));
    plan.shards.push_back({shard.table, shard.row_begin, shard.row_end, shard.column_begin,
                           shard.column_end, shard.device, kernel});
  }
  canonicalize(plan);
  return handle;
}

Result<PlanHandle> parse(std::string_view bytes, const std::string& source) {
  auto handle = std::make_unique<neuroshard_plan>();
  NEUROSHARD_ASSIGN_OR_RETURN(handle->document, io::parse_plan(bytes, source));
  canonicalize(handle->document.plan);
  return handle;
}

/// An array of the caller's that has to hold `count` elements.
Status check_capacity(const void* array, const char* name, std::size_t capacity,
                      std::size_t count) {
  if (capacity < count) {
    return invalid_input("capacity: found " + std::to_string(capacity) + ", expected at least " +
                         std::to_string(count));
  }
  return count == 0 ? Status() : require(array, name);
}

}  // namespace
}  // namespace neuroshard::api

using namespace neuroshard;
using namespace neuroshard::api;

neuroshard_status neuroshard_plan_create(int32_t devices, int64_t batch_size,
                                         const neuroshard_shard* shards, size_t count,
                                         neuroshard_plan** plan, neuroshard_error* error) {
  return make_handle(plan, error, [&] { return make(devices, batch_size, shards, count); });
}

neuroshard_status neuroshard_plan_parse(neuroshard_text bytes, neuroshard_text source,
                                        neuroshard_plan** plan, neuroshard_error* error) {
  return make_handle(plan, error, [&]() -> Result<PlanHandle> {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view view, view_of(bytes, "bytes"));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view name, view_of(source, "source"));
    return parse(view, std::string(name));
  });
}

neuroshard_status neuroshard_plan_read_file(neuroshard_text path, neuroshard_plan** plan,
                                            neuroshard_error* error) {
  return make_handle(plan, error, [&]() -> Result<PlanHandle> {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string file, path_of(path, "path"));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, io::read_text_file(file));
    return parse(bytes, file);
  });
}

neuroshard_status neuroshard_plan_get_info(const neuroshard_plan* plan, neuroshard_plan_info* info,
                                           neuroshard_error* error) {
  return guarded(error, [&]() -> Status {
    NEUROSHARD_REQUIRE(plan);
    const io::PlanDocument& document = plan->document;
    neuroshard_plan_info local{};
    local.batch_size = document.batch_size;
    local.cost_ms = document.cost.cost_ms;
    local.shard_count = document.plan.shards.size();
    local.device_cost_count = document.cost.per_device.size();
    local.devices = document.plan.devices;
    local.stopped_early = plan->stopped_early ? 1 : 0;
    local.algorithm = text_of(document.provenance.algorithm);
    local.seed = document.provenance.seed;
    local.evaluations = plan->evaluations;
    local.search_s = plan->search_s;
    local.buffers = number_of(document.buffers);
    local.lower_bound_ms = document.lower_bound_ms.value_or(0);
    local.skipped = text_of(plan->skipped);
    local.devices_per_host = document.places.devices_per_host;
    local.memory_bytes = document.setting.memory_bytes;
    local.host_memory_bytes = document.setting.host_memory_bytes;
    local.cost_model = text_of(document.provenance.cost_model);
    local.cost_model_sha256 = text_of(document.provenance.cost_model_sha256);
    if (const auto& own = document.provenance.bandwidths_gbps; own.size() == 4) {
      local.device_gbps = own[0];
      local.intra_host_gbps = own[1];
      local.inter_host_gbps = own[2];
      local.host_memory_gbps = own[3];
    }
    local.cache_hits = text_of(document.provenance.cache_hits);
    local.hot_table_count = hot_rows(document.plan).size();
    local.dense_model = text_of(document.provenance.dense_model);
    local.dense_model_sha256 = text_of(document.provenance.dense_model_sha256);
    local.dense_hardware = text_of(document.provenance.dense_hardware);
    local.exchange_forward = number_of(document.exchange.forward);
    local.exchange_backward = number_of(document.exchange.backward);
    return write_struct(info, local, "info");
  });
}

neuroshard_status neuroshard_plan_get_shards(const neuroshard_plan* plan, neuroshard_shard* shards,
                                             size_t capacity, neuroshard_error* error) {
  return guarded(error, [&]() -> Status {
    NEUROSHARD_REQUIRE(plan);
    const std::vector<Shard>& own = plan->document.plan.shards;
    NEUROSHARD_RETURN_IF_ERROR(check_capacity(shards, "shards", capacity, own.size()));
    for (const Shard& shard : own) *shards++ = c_shard(shard);
    return {};
  });
}

neuroshard_status neuroshard_plan_get_device_costs(const neuroshard_plan* plan,
                                                   neuroshard_device_cost* costs, size_t capacity,
                                                   neuroshard_error* error) {
  return guarded(error, [&]() -> Status {
    NEUROSHARD_REQUIRE(plan);
    const std::vector<DeviceCost>& own = plan->document.cost.per_device;
    NEUROSHARD_RETURN_IF_ERROR(check_capacity(costs, "costs", capacity, own.size()));
    for (const DeviceCost& cost : own) {
      *costs++ = {cost.compute_ms,   cost.forward_comm_ms, cost.backward_comm_ms, cost.total_ms(),
                  cost.memory_bytes, cost.dim_sum,         cost.host_bytes};
    }
    return {};
  });
}

neuroshard_status neuroshard_plan_get_dense_ms(const neuroshard_plan* plan, double* dense_ms,
                                               size_t capacity, neuroshard_error* error) {
  return guarded(error, [&]() -> Status {
    NEUROSHARD_REQUIRE(plan);
    const std::vector<DeviceCost>& own = plan->document.cost.per_device;
    NEUROSHARD_RETURN_IF_ERROR(check_capacity(dense_ms, "dense_ms", capacity, own.size()));
    for (const DeviceCost& cost : own) *dense_ms++ = cost.dense_ms;
    return {};
  });
}

neuroshard_status neuroshard_plan_get_hot_rows(const neuroshard_plan* plan,
                                               neuroshard_hot_rows* tables, size_t capacity,
                                               neuroshard_error* error) {
  return guarded(error, [&]() -> Status {
    NEUROSHARD_REQUIRE(plan);
    const std::vector<HotRows> own = hot_rows(plan->document.plan);
    NEUROSHARD_RETURN_IF_ERROR(check_capacity(tables, "tables", capacity, own.size()));
    for (const HotRows& hot : own)
      *tables++ = {.rows = hot.rows, .table = hot.table, .reserved = 0};
    return {};
  });
}

neuroshard_status neuroshard_plan_check(const neuroshard_plan* plan,
                                        const neuroshard_workload* workload,
                                        const neuroshard_cluster* cluster,
                                        neuroshard_error* error) {
  return guarded(error, [&]() -> Status {
    NEUROSHARD_REQUIRE(plan);
    NEUROSHARD_REQUIRE(workload);
    NEUROSHARD_RETURN_IF_ERROR(validate(workload->workload));
    NEUROSHARD_ASSIGN_OR_RETURN(const io::PlanDocument document,
                                numbered_for(*workload, *plan, "plan", io::UnknownTables::kFault));
    const Plan& own = document.plan;
    NEUROSHARD_RETURN_IF_ERROR(validate(workload->workload, own));
    NEUROSHARD_RETURN_IF_ERROR(io::check_plan_sharding(workload->workload, own));
    if (cluster == nullptr) return {};
    NEUROSHARD_ASSIGN_OR_RETURN(const GivenCluster given, read_cluster(cluster));
    const Cluster devices = given.like(plan->document);
    NEUROSHARD_RETURN_IF_ERROR(check_same_devices(given, *plan));
    NEUROSHARD_RETURN_IF_ERROR(
        check_step_memory(workload->workload, step_memory(workload->workload, devices)));
    NEUROSHARD_RETURN_IF_ERROR(
        check_memory(workload->workload, own, devices.memory_bytes, devices.buffers));
    if (devices.host_memory_bytes == 0) return {};
    return check_host_memory(workload->workload, own, host_devices(devices),
                             devices.host_memory_bytes);
  });
}

neuroshard_status neuroshard_plan_moved_bytes(const neuroshard_plan* from,
                                              const neuroshard_plan* to,
                                              const neuroshard_workload* workload, int64_t* bytes,
                                              neuroshard_error* error) {
  return guarded(error, [&]() -> Status {
    NEUROSHARD_REQUIRE(from);
    NEUROSHARD_REQUIRE(to);
    NEUROSHARD_REQUIRE(workload);
    NEUROSHARD_REQUIRE(bytes);
    NEUROSHARD_RETURN_IF_ERROR(validate(workload->workload));
    NEUROSHARD_ASSIGN_OR_RETURN(
        const io::PlanDocument before,
        numbered_for(*workload, *from, "from", io::UnknownTables::kDropped));
    NEUROSHARD_ASSIGN_OR_RETURN(const io::PlanDocument after, numbered_for(*workload, *to, "to"));
    const Plan& now = before.plan;
    const Plan& next = after.plan;
    NEUROSHARD_RETURN_IF_ERROR(
        validate(workload->workload, with_missing_tables(workload->workload, now))
            .with_context("from"));
    NEUROSHARD_RETURN_IF_ERROR(validate(workload->workload, next).with_context("to"));
    if (now.devices != next.devices) {
      return invalid_input("to: found a plan for " + std::to_string(next.devices) +
                           " devices, expected " + std::to_string(now.devices));
    }
    *bytes = moved_bytes(workload->workload, now, next);
    return {};
  });
}

void neuroshard_plan_destroy(neuroshard_plan* plan) { delete plan; }
