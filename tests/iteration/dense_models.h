#pragma once

#include "engine/core/dense_model.h"
#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "engine/iteration/kernel_times.h"

namespace neuroshard::test {

/// MLPerf's DLRM-DCNv2, as examples/dlrm_dcnv2_model.json has it.
inline DenseModel dcnv2() {
  DenseModel model;
  model.dense_features = 13;
  model.bottom = {512, 256, 128};
  model.interaction = Interaction::kDcn;
  model.cross_layers = 3;
  model.cross_rank = 512;
  model.top = {1024, 1024, 512, 256, 1};
  model.precision = DensePrecision::kFp16;
  model.optimizer = DenseOptimizer::kAdagrad;
  model.cuda_graph = true;
  return model;
}

inline Workload tables_of(int count, std::int32_t dim, std::int64_t batch_size = 65536) {
  Workload workload;
  workload.batch_size = batch_size;
  for (int i = 0; i < count; ++i) {
    Table table;
    table.rows = 1000;
    table.dim = dim;
    table.pooling_factor = 4;
    workload.tables.push_back(table);
  }
  return workload;
}

/// Every table whole, dealt out over the devices.
inline Plan dealt_out(const Workload& workload, std::int32_t devices) {
  Plan plan{devices, {}};
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    plan.shards.push_back(whole_table(workload, table, table % devices));
  }
  return plan;
}

/// About an H100.
inline KernelRates some_rates() {
  KernelRates rates;
  rates.flops_per_ms = 780e9;
  rates.multiprocessors = 132;
  rates.dram_bytes_per_ms = 2.7e9;
  rates.l2_bytes_per_ms = 5.5e9;
  rates.l2_bytes = 45e6;
  rates.launch_ms = 0.0005;
  rates.value_bytes = 2;
  return rates;
}

}  // namespace neuroshard::test
