#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/hardware_profile.h"
#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/cost_model/comm_features.h"
#include "engine/cost_model/dense_part.h"
#include "engine/cost_model/features.h"
#include "engine/cost_model/torchrec_costs.h"
#include "nn/mlp.h"

namespace neuroshard {

/// Inputs are standardised as (x - mean) / std, per feature, before the first layer.
struct Scaling {
  std::vector<float> mean;
  std::vector<float> std;
};

/// What the last layer's output means: milliseconds, or their natural logarithm.
enum class CostTarget { kMilliseconds, kLogMilliseconds };

/// Milliseconds of a network's output. NaN (of networks that overflow) becomes infinite, so that
/// costs can be compared.
inline float milliseconds_of(float output, CostTarget target) {
  const float ms = target == CostTarget::kMilliseconds ? output : std::exp(output);
  return std::isnan(ms) ? std::numeric_limits<float>::infinity() : ms;
}

/// How well a network predicts costs that it was neither trained nor chosen by.
struct HeldOutError {
  std::int64_t samples = 0;
  double share = 0;  ///< 90 % of the costs are at most this share of the prediction away from it
  /// Kendall's tau: 1, the predictions have the costs in the right order; 0, in any. NaN: no order.
  double tau = 0;

  friend bool operator==(const HeldOutError&, const HeldOutError&) = default;
};

/// Columns of the widest tables of the usual pools, which most models are trained on.
inline constexpr std::int32_t kTrainedColumns = 128;

/// `table-sum-mlp`: encoder per shard, sum over a device's shards, head (NeuroShard, section 4).
/// The empty set costs head(0).
struct ComputeModel {
  FeatureSet features;
  Scaling scaling;  ///< one entry per feature
  nn::Mlp table;    ///< features -> 128 -> 32, ReLU after both
  nn::Mlp head;     ///< 32 -> 64 -> 1
  CostTarget target = CostTarget::kMilliseconds;
  /// In how many parts at most the rows of shards were split that the networks have seen; 1: whole
  /// rows only, so what they say of row shards is a guess.
  std::int32_t row_parts = 1;
  /// Columns of the widest shard that the networks have seen. Wider ones cost what as few equal
  /// parts of their columns as that allows cost together: networks go astray far beyond what they
  /// have learned.
  std::int32_t max_dim = kTrainedColumns;
  std::optional<HeldOutError> error;  ///< nothing in files from before it was kept
};

/// `fixed-devices-mlp`: all devices' values in, all devices' costs out; one device count only.
/// `pooled-devices-mlp`: one network per device, fed its own values and statistics over all
/// devices: any device count (inputs: cost_model/comm_features.h).
enum class CommArchitecture { kFixedDevices, kPooledDevices };

struct CommModel {
  Scaling scaling;
  nn::Mlp mlp;
  CostTarget target = CostTarget::kMilliseconds;
  std::optional<HeldOutError> error{};  ///< nothing in files from before it was kept
};

/// Both directions of the all-to-all.
struct CommModels {
  CommArchitecture architecture = CommArchitecture::kFixedDevices;
  std::int32_t devices = 0;  ///< kFixedDevices only
  CommFeatureSet features;   ///< kPooledDevices only: the inputs of both directions
  /// kPooledDevices only: the least and the most devices of the training data, 0 when not known.
  /// What the networks say of fewer or more is a guess; they are not asked about one device.
  std::int32_t min_devices = 0;
  std::int32_t max_devices = 0;
  CommModel forward;
  CommModel backward;
};

/// Where numbers come from. A simulated figure is never printed as a measured one.
enum class Provenance { kMeasured, kSimulated };

/// "measured" or "simulated", as files say it.
inline std::string_view word_of(Provenance provenance) {
  return provenance == Provenance::kMeasured ? "measured" : "simulated";
}

/// How far a simulation is from GPUs that others have measured.
struct PublishedError {
  double share = 0;   ///< 90 % of simulated times are at most so far from the published ones
  std::string basis;  ///< of which measurements, and whether they are of this hardware

  friend bool operator==(const PublishedError&, const PublishedError&) = default;
};

struct ModelOrigin {
  std::string hardware;  ///< free text, e.g. "H200-141G, NVSwitch"
  Provenance provenance = Provenance::kSimulated;
  std::optional<PublishedError> published{};  ///< of simulated hardware, where it is known

  friend bool operator==(const ModelOrigin&, const ModelOrigin&) = default;
};

struct CostModels;

/// One of several cost models of which the worst counts. Costs of different models are compared as
/// scaled milliseconds.
struct ModelInWorst {
  const CostModels* models = nullptr;  ///< must outlive whatever is made of it; none of `worst_of`
  double scale = 1;                    ///< scaled milliseconds of one of its own
  /// Scaled milliseconds by which its exchanges take longer than the first model's, around the
  /// plans of interest. Devices' costs have no exchanges in them but where costs add up, so they
  /// are compared with this added.
  double offset_ms = 0;
};

/// The trained networks of one hardware; either half may be missing while it is being trained.
/// A value; const access is thread-safe.
struct CostModels {
  std::string source{};             ///< what messages call them, a file or a shipped name; or ""
  std::int64_t batch_size = 65536;  ///< global; the largest of the training data
  std::int64_t min_batch_size = 0;  ///< the smallest; 0: all had batch_size
  std::string cost_unit = "ms";
  ModelOrigin compute_origin;
  ModelOrigin comm_origin;
  std::optional<ComputeModel> compute;
  std::optional<CommModels> comm;
  /// Instead of networks: TorchRec's formula, by this estimator. The hosts are the cluster's.
  std::optional<TorchRecEstimator> torchrec;
  /// At which devices of that hardware copy, read and written, GB/s of 10^9 bytes: what codecs of
  /// exchanges cost. Nothing where it is not known; formulas have their own.
  std::optional<double> device_gbps{};
  /// How often they copy, each way, what they exchange, in the exchanges that were learned.
  double exchange_copies = 0;
  /// The links that the exchanges were learned over: what an all-reduce of the gradients of tables
  /// on every device costs there. Nothing where they are not known; formulas have their own.
  std::optional<InterconnectProfile> links{};
  /// What the model computes beside its tables: costs are then of whole training steps. Null: they
  /// are of the embedding part alone. REQUIRES networks, which tell exchanges from lookups.
  std::shared_ptr<const DensePart> dense{};
  /// Instead of all this: the worst of several models, of which the first is the one whose
  /// exchanges searches count. REQUIRES two or more. Empty: these are one model.
  std::vector<ModelInWorst> worst_of{};
};

}  // namespace neuroshard
