#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "io/cost_data/collection.h"

namespace neuroshard {

/// Time of one fused multi-table lookup on one device, milliseconds.
struct ComputeTime {
  double total_ms = 0;     ///< forward, then backward with the optimizer, in one timing
  double forward_ms = 0;   ///< the forward part
  double backward_ms = 0;  ///< the backward part; medians apart, so parts may not add up exactly
};

/// Times of one all-to-all, milliseconds, one value per device.
struct CommTime {
  /// From the device's own start to the barrier that ends the exchange: waiting is included.
  std::vector<double> forward_ms;
  /// All devices start together; no barrier at the end.
  std::vector<double> backward_ms;
};

/// What embedding shards and the all-to-all between devices cost on some hardware, measured or
/// simulated (DESIGN section 6). Use from one thread at a time.
class GroundTruth {
 public:
  virtual ~GroundTruth() = default;

  [[nodiscard]] virtual io::Backend backend() const = 0;
  /// One line for people, e.g. "H200-141G, nvswitch (simulated)".
  [[nodiscard]] virtual const std::string& hardware() const = 0;
  /// Name of the simulated profile, "" for other backends.
  [[nodiscard]] virtual const std::string& profile() const = 0;
  /// What else its figures depend on and a collection has to keep: "profile-sha256" of a profile
  /// that is a file.
  [[nodiscard]] virtual std::map<std::string, std::string> settings() const { return {}; }
  /// What moves from measurement to measurement, as it is now, in one line for people: clocks and
  /// temperature of a GPU. "" where there is nothing to say.
  [[nodiscard]] virtual std::string conditions() const { return ""; }
  /// The seed of the lookups where they are drawn, by make_index_stream(): row shards then see what
  /// falls into their rows. Nothing where they see an even share.
  [[nodiscard]] virtual std::optional<std::uint64_t> lookup_seed() const { return std::nullopt; }
  /// Whether it costs lookups that are not pooled and tables of several features: else those are
  /// errors.
  [[nodiscard]] virtual bool knows_all_lookups() const { return false; }
  [[nodiscard]] Provenance provenance() const {
    return backend() == io::Backend::kSim ? Provenance::kSimulated : Provenance::kMeasured;
  }

  /// Cost of the shards of one device run as one fused lookup over the global batch
  /// `workload.batch_size`; Shard::device is ignored. The same shard may occur twice. No shards
  /// cost what an operator without work costs. Shards of one table see the same indices.
  /// REQUIRES every table of a shard valid, and every shard inside its table.
  /// Errors: kInvalidInput when the shards exceed the memory this backend was given.
  virtual Result<ComputeTime> measure_compute(const Workload& workload,
                                              std::span<const Shard> shards) = 0;

  /// Cost of exchanging pooled embeddings between dims.size() devices: device d holds `dims[d]`
  /// columns for the global batch and keeps batch_size / devices samples (whole samples; the first
  /// devices take the remainder). `starts_ms[d]` delays the forward of device d.
  /// Errors: kInvalidInput for no devices, starts of another length, negative values.
  virtual Result<CommTime> measure_all_to_all(std::span<const std::int64_t> dims,
                                              std::span<const double> starts_ms,
                                              std::int64_t batch_size) = 0;
};

/// Runs before so many timed ones, for caches, clocks and pages: what every command takes.
constexpr int untimed_runs(int timed_runs) { return (timed_runs + 1) / 2; }

struct GroundTruthOptions {
  /// sim: a built-in profile or a path of a profile file, optionally with "+interconnect":
  /// "H200-141G", "A100-80G+cluster", "./mine.json+pcie".
  std::string profile;
  int threads = 0;  ///< cpu: threads of the lookup; 0 = one per hardware thread
  std::int64_t max_memory_bytes = std::int64_t{4} << 30;  ///< tables that can be measured
  // The rest: cpu and cuda.
  std::uint64_t seed = 0;  ///< of index streams and initial weights
  int timed_runs = 10;     ///< the median of these counts
  int warmup_runs = untimed_runs(10);
};

}  // namespace neuroshard
