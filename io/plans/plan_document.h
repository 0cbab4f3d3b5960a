#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/cost_error.h"
#include "engine/core/exchange_format.h"
#include "engine/core/plan.h"
#include "engine/core/step_buffers.h"

namespace neuroshard::io {

/// What a plan was made from.
struct PlanProvenance {
  std::string engine_version;
  std::string cost_model;         ///< name of a shipped model, or of a file without its folders
  std::string cost_model_sha256;  ///< of the model file's bytes
  std::string hardware;           ///< what the costs are of, free text
  std::string cost_provenance;    ///< "measured" or "simulated"; "" in older files, as `hardware`
  std::string input_sha256;       ///< of the table file's bytes
  std::string algorithm;
  std::uint64_t seed = 0;
  /// What TorchRec's formula counted with, in GB/s: a device's memory, all-to-all on one host,
  /// between hosts, host memory; empty of networks, and in older files.
  std::vector<double> bandwidths_gbps{};
  /// How it counted what caches serve: "curve", or "" where that is their share of the rows.
  std::string cache_hits{};
  /// Where the costs are of whole training steps: the file of the model's dense part, without its
  /// folders, its sha256, and the hardware that this is of. All empty where they are not.
  std::string dense_model{};
  std::string dense_model_sha256{};
  std::string dense_hardware{};
  friend bool operator==(const PlanProvenance&, const PlanProvenance&) = default;
};

/// What one of several cost models that a plan was made for says of it.
struct CostByModel {
  std::string cost_model;
  double cost_ms = 0;
  double best_ms = 0;  ///< the least cost by it of any plan that was seen
  double regret = 0;   ///< how much dearer the plan is, as a share of that

  friend bool operator==(const CostByModel&, const CostByModel&) = default;
};

/// What a trainer's plan file says of its shards beside their devices, where its format has a place
/// for that (TorchRec's): what writing such a file again takes where nothing else is asked for.
struct TrainerPlaces {
  /// Dotted name of the embedding module that holds each table, in the workload's order, "" = the
  /// model itself; nothing of tables that are not in the file, empty = not said of any.
  std::vector<std::optional<std::string>> modules{};
  std::string device{};               ///< "cuda" or "cpu"; "" = not said
  std::int32_t devices_per_host = 0;  ///< 0 = not said
  // Why the file's placements cannot be put in the two words above, and what TorchRec would trip
  // over; "" when they can.
  std::string device_fault{};
  std::string host_fault{};
};

/// What a plan was made for, so that nobody has to be told again who reads it; nothing in older
/// files.
struct PlanSetting {
  std::vector<std::string> table_names{};  ///< in the order by which shards count them
  std::int64_t memory_bytes = 0;           ///< of each device
  std::int64_t host_memory_bytes = 0;      ///< of each host, for tables there
};

/// What a table's hot rows take off its shards, for people who read the file.
struct HotLookups {
  std::int64_t min_count = 0;  ///< lookups in a batch that each of the rows has at least
  double lookup_share = 0;     ///< of the table's lookups
  double cold_bag_share = 0;   ///< of its bags, those with another row

  friend bool operator==(const HotLookups&, const HotLookups&) = default;
};

/// A plan file. A plan written by hand may lack costs (cost_ms 0, per_device empty) and provenance
/// (all fields empty).
struct PlanDocument {
  Plan plan;
  std::int64_t batch_size = 0;
  StepBuffers buffers = StepBuffers::kOff;  ///< that its bytes count beside the tables
  ExchangeFormat exchange{};                ///< that its costs are of, and its trainer is to use
  PlanCost cost;
  std::optional<double> lower_bound_ms;   ///< that no plan for the same cluster costs less than
  std::optional<CostError> cost_error{};  ///< nothing in older files, and of other makers
  /// Of each table with hot rows, in their order; nothing where that is not said.
  std::vector<HotLookups> hot_lookups{};
  std::vector<CostByModel> by_models{};  ///< of a plan made for several; the first is `cost`'s
  PlanProvenance provenance;
  PlanSetting setting{};
  TrainerPlaces places;  ///< a neuroshard-plan has of them how many devices a host has

  /// What it costs by other models than before; what a search said by its own is left out.
  void set_cost(PlanCost anew, const CostError& error) {
    cost = std::move(anew);
    cost_error = error;
    by_models.clear();
    lower_bound_ms.reset();
  }
};

}  // namespace neuroshard::io
