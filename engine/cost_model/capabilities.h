#pragma once

#include <cstdint>

#include "engine/core/cluster.h"
#include "engine/core/exchange_format.h"
#include "engine/core/plan.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard {

/// What cost models know, whichever they are. Whoever plans, warns or prints asks this, so that a
/// new cost model has one place to say it. Defaults are what networks know of tables that stay
/// whole.
struct Capabilities {
  /// The widest row splits that there are costs of. kOff: of whole rows only. Networks say
  /// something of others, too, but that is a guess.
  RowSplits row_splits = RowSplits::kOff;
  /// In how many parts at most a table's rows may be; costs of more are guesses. 1: whole rows
  /// only.
  std::int32_t row_parts = 1;
  /// Whether costs depend on which devices are on one of the cluster's hosts. Those of networks do
  /// not: they count with hosts like those that they were trained on, whatever the cluster's are.
  bool hosts = false;
  /// Devices of each of the hosts that networks have learned exchanges over: of even blocks of rows
  /// over as many they know what is added up there. 0: all were on one host, or nothing is known.
  std::int32_t trained_host_devices = 0;
  bool replicas = false;     ///< whether a table that every device holds has a cost
  bool hot_rows = false;     ///< whether a table of which it holds the hottest rows has one
  bool host_memory = false;  ///< whether kernels that read from the host's memory have one
  bool sequences = false;    ///< whether lookups that are not pooled have one
  /// In which numbers exchanges may travel, either way, for there to be costs of them.
  PrecisionSet exchange{Precision::kFp32};
  /// Whether no kernel is ever faster than the fused one: a lower bound of plans with fused tables
  /// then holds for all plans.
  bool fused_is_fastest = true;
  /// Whether a device costs the sum of its shards, so that there is a lower bound.
  bool additive = false;
  /// Whether all devices count as many samples: what a batch has beyond a multiple of the devices
  /// is then not counted.
  bool even_samples = false;
  bool settable_bandwidths = false;  ///< else they are those of the hardware trained on
  /// The global batch sizes that costs are known for; others are refused. Neither is 0.
  std::int64_t min_batch_size = 0;
  std::int64_t max_batch_size = 0;
  std::int32_t only_devices = 0;  ///< the one device count that there are costs for; 0: any
  /// Of any, the least and the most devices of the training data: costs of fewer and more are
  /// guesses, but for one device, which exchanges nothing. 0: not known, or there is no such limit.
  std::int32_t min_devices = 0;
  std::int32_t max_devices = 0;

  friend bool operator==(const Capabilities&, const Capabilities&) = default;
};

/// What these cost models know.
Capabilities capabilities(const CostModels& models);

/// Over how many devices of a host of that cluster even blocks of rows have a cost; 0: over none.
/// Networks know those of hosts as large as the ones that they were trained on.
std::int32_t block_host_devices(const Capabilities& known, const Cluster& cluster);

}  // namespace neuroshard
