#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/cluster.h"

namespace neuroshard::io {

/// One cluster's plan in numbers, or why there is none.
struct SweepCluster {
  Cluster cluster;
  bool feasible = false;
  std::string refusal{};  ///< what would make a plan fit, or be made at all; not of feasible ones
  double cost_ms = 0;     ///< this and what follows but the seconds: of feasible ones
  std::int64_t memory_bytes = 0;           ///< of the fullest device
  std::int64_t shards = 0;                 ///< of the plan
  std::int64_t offloaded = 0;              ///< tables that it has in host memory
  std::int64_t host_bytes = 0;             ///< of those, of all hosts together
  std::optional<double> lower_bound_ms{};  ///< no plan costs less, where that is known
  bool stopped_early = false;              ///< another run may find another plan
  std::string skipped{};  ///< what the time limit left no room for, in words; empty: nothing
  double seconds = 0;     ///< the search alone

  /// The cost in milliseconds of devices, which wait for the slowest.
  [[nodiscard]] double device_ms() const { return cost_ms * cluster.devices; }
};

/// One workload on clusters of several sizes, as `neuroshard sweep` reports it.
struct SweepReport {
  std::string cost_model;
  std::string hardware;         ///< what the costs are of, free text
  std::string cost_provenance;  ///< "measured" or "simulated"
  std::int64_t batch_size = 0;
  std::int64_t tables = 0;
  std::int64_t host_memory_bytes = 0;  ///< of each host, for tables; 0: none
  std::vector<SweepCluster> clusters;
  std::string dense_model{};  ///< whose whole steps costs are of; "": of the tables alone
};

/// Less is no gain: six seeds of a second each gave plans of examples/dlrm_dcnv2.json on 16 devices
/// of 40 GB that cost 3.544 to 3.567 ms, 0.6 % apart.
inline constexpr double kWorthwhile = 0.01;

/// Which of the clusters are worth their devices and memory: feasible ones that cost less, by more
/// than kWorthwhile of it, than each other one that has at most as many devices with at most as
/// much memory. (Pareto, with that margin, over cost, devices and memory per device.)
std::vector<bool> worth_it(std::span<const SweepCluster> clusters);

/// The text of docs/FILE_FORMATS.md, "Sweep": of an infeasible cluster, what only a plan has is
/// null. Deterministic.
std::string format_sweep(const SweepReport& report);

}  // namespace neuroshard::io
