#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/ground_truth/ground_truth.h"
#include "engine/ground_truth/measure.h"

namespace neuroshard {

class RankDevice;
namespace cuda {
class Rendezvous;
struct Ranks;
}  // namespace cuda

/// Processes that a launcher (torchrun, Slurm, Open MPI) has started, one a GPU, measuring
/// together. Rank 0 leads: it reads, writes and prints like a process on its own, the others do
/// what it asks for. One that dies, fails or stays away ends all of them with an error, within a
/// time limit. Use from one thread.
class RankGroup {
 public:
  /// How many processes the launcher has started: 1 without one. Errors: kInvalidInput naming the
  /// variable that is wrong.
  static Result<std::int32_t> world_from_environment();

  /// Meets the others and makes the device of this process; they wait for each other for a minute.
  /// Errors: kUnavailable naming who is missing or what this machine, or another's, lacks.
  static Result<std::unique_ptr<RankGroup>> join(const GroundTruthOptions& options);
  using MakeDevice = std::function<Result<std::unique_ptr<RankDevice>>(cuda::Rendezvous&)>;
  static Result<std::unique_ptr<RankGroup>> join(const cuda::Ranks& ranks,
                                                 std::chrono::milliseconds limit,
                                                 const MakeDevice& make_device);
  ~RankGroup();

  /// Whether this process is rank 0.
  [[nodiscard]] bool leads() const;
  [[nodiscard]] std::int32_t world() const;
  [[nodiscard]] const std::string& hardware() const;
  [[nodiscard]] std::string conditions() const;

  /// Rank 0: the group's all-to-all as a ground truth, of as many devices as there are ranks.
  GroundTruth& truth();
  /// The other ranks: does what rank 0 asks for until it ends the group. Errors: why the group
  /// failed, here or elsewhere.
  Status follow();
  /// Rank 0: the others end, with success too when `outcome` is, else with its message. Returns
  /// `outcome`.
  Status end(const Status& outcome);

  /// All ranks, with equal arguments: device r's shards on rank r's GPU, lookups and exchanges as
  /// in training. The result is rank 0's; the others get an empty one. Errors: as measure_plan;
  /// kInvalidInput when a rank has another plan or other tables than rank 0.
  Result<PlanMeasurement> measure(const Workload& workload, const Plan& plan);

 private:
  class Truth;
  RankGroup(std::unique_ptr<cuda::Rendezvous> group, std::unique_ptr<RankDevice> device);

  std::unique_ptr<cuda::Rendezvous> group_;
  std::unique_ptr<RankDevice> device_;
  std::unique_ptr<Truth> truth_;
  bool ended_ = false;
};

}  // namespace neuroshard
