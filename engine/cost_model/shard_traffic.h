#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/core/hardware_profile.h"
#include "engine/core/interconnect.h"
#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/cost_model/exchange_costs.h"
#include "engine/cost_model/step_time.h"
#include "search/plan_evaluator.h"

namespace neuroshard {

/// What shards of a workload have travel, for networks that have learned all-to-alls of pooled
/// outputs of one feature. Thread-safe.
class ShardTraffic {
 public:
  /// Milliseconds of every device.
  struct Times {
    float forward_ms = 0;
    float backward_ms = 0;
  };

  /// The workload must outlive it. Where `models` know no links, all devices are taken to be on one
  /// host and nothing is known beside the all-to-all. In a `step`, collectives have its latency,
  /// and its all-reduces are not counted. REQUIRES devices >= 1.
  ShardTraffic(const Workload& workload, std::int32_t devices, const CostModels& models,
               const ExchangeCosts& exchange, const std::optional<DenseTime>& step = {});

  /// Of a table on every device, gradients alone. Of others, the values of an output a sample and
  /// feature, or of each lookup where they are not pooled, and of rows of these as many as their
  /// busiest shard may send; of partial sums of row shards what hosts leave of them for each other.
  /// Beside hot rows only those of bags with a cold row, rounded up to a column, so that many
  /// narrow pieces do not seem to send nothing.
  [[nodiscard]] search::Exchanged of(const ShardShape& shape) const;

  /// What a plan takes beside the all-to-all that networks know, in a step, where its latency is
  /// less, less than that: the all-reduce of replicas' and hot rows' gradients, and adding sums of
  /// hot rows to those of cold ones; the latency of a reduce-scatter where there is an all-to-all,
  /// too; copies of outputs that codecs make no smaller; and partial sums inside hosts where that
  /// is what takes long, or a step before they are sent on. `dim_sums`: of the plan's devices;
  /// `work`: theirs, empty where that is not known.
  [[nodiscard]] Times beside_all_to_all(const search::Collectives& collectives,
                                        std::span<const std::int64_t> dim_sums,
                                        std::span<const search::DeviceWork> work = {}) const;

  /// Whether that goes by `work`: there are several hosts, or partial sums travel in other numbers
  /// than outputs, or are not copied where these are.
  [[nodiscard]] bool counts_work() const {
    return counts_sums() || (links_ && exchange_.has_copies());
  }
  /// Of several hosts, by which that goes; 0: there is one.
  [[nodiscard]] std::int32_t host_devices() const {
    return outputs_.between > 0 ? host_devices_ : 0;
  }

 private:
  // Milliseconds a sample.
  struct Steps {
    double forward;
    double backward;
  };
  [[nodiscard]] double at_once(const ExchangeCosts::Way& way,
                               std::span<const std::int64_t> dim_sums,
                               std::span<const search::DeviceWork> work) const;
  [[nodiscard]] Steps in_steps(const ExchangeCosts::Way& way,
                               std::span<const std::int64_t> dim_sums,
                               std::span<const search::DeviceWork> work) const;
  [[nodiscard]] double codec_of_sums(const ExchangeCosts::Way& way,
                                     std::span<const search::DeviceWork> work) const;
  [[nodiscard]] bool counts_sums() const {
    return outputs_.between > 0 || (links_ && exchange_.sums_differ());
  }
  [[nodiscard]] Times of_copies(std::span<const std::int64_t> dim_sums,
                                std::span<const search::DeviceWork> work) const;
  [[nodiscard]] Times of_sums(const search::Collectives& collectives,
                              std::span<const std::int64_t> dim_sums,
                              std::span<const search::DeviceWork> work) const;

  const Workload& workload_;
  const std::int32_t devices_;
  const bool in_step_;
  std::optional<InterconnectProfile> links_;
  const ExchangeCosts exchange_;
  const double merge_ms_per_dim_;  // of a device's own samples
  double saved_ms_ = 0;            // of a collective's latency, in a step
  std::int32_t host_devices_ = 0;
  PortTimes outputs_;
  PortTimes sums_;
  /// Of each table: how much of what its busiest row shard has more than others counts.
  std::vector<double> excess_share_;
  double sum_share_ = 1;  // of the port between hosts, partial sums beside as many outputs
};

}  // namespace neuroshard
