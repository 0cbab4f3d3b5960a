#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/mlp_evaluator.h"
#include "nn/isa.h"

namespace neuroshard::bench {

struct SearchFiles {
  std::string cost_model = "h200_sim";
  std::string tables;  ///< pool that the tasks point into; empty: tasks are generated
  std::string tasks;
  int devices = 8;
  std::int64_t device_memory = std::int64_t{4} << 30;
};

/// What is benched.
struct SearchSetup {
  CostModels models;
  std::vector<Workload> workloads;  ///< by number of tables
  Cluster cluster;
  int repeat = 5;
};

Result<SearchSetup> load_setup(const SearchFiles& files);

/// Instruction sets of this processor, the scalar reference first.
std::vector<nn::Isa> usable_isas();

/// Ends the program when the models are not for `devices` devices.
std::shared_ptr<MlpEvaluator> evaluator_of(const SearchSetup& setup, const Workload& workload,
                                           std::int32_t devices, nn::Isa isa);

}  // namespace neuroshard::bench
