#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/flags/common_flags.h"
#include "apps/flags/dense_model_flags.h"
#include "apps/flags/export_flags.h"
#include "apps/flags/host_flags.h"
#include "apps/flags/policy_flags.h"
#include "apps/flags/robust_flag.h"
#include "apps/flags/search_flags.h"
#include "engine/core/cluster.h"
#include "engine/core/status.h"
#include "engine/core/trainer_rules.h"
#include "engine/cost_model/shipped_models.h"

namespace neuroshard::apps {

/// What the files say that `plan` reads.
struct PlanInputs {
  LoadedWorkload loaded;
  std::vector<NamedCostModels> models;  ///< the first one's costs are the plan's
};

/// What the flags of `plan` ask for.
class PlanRequest {
 public:
  void declare(FlagSet& flags);

  /// Reads the files, and checks all that can be wrong before a search; remarks on standard error
  /// tell of flags that change nothing. From now on the rest may be asked for.
  Result<PlanInputs> read(const FlagSet& flags);

  /// The format whose trainer runs the plan: by its rules searches go.
  [[nodiscard]] const std::string& trainer() const {
    return search.target ? *search.target : exported.format;
  }
  /// Why that trainer's plans have no tables in host memory; "" where they may.
  [[nodiscard]] std::string host_memory_fault() const;
  /// Whether one plan is for several cost models.
  [[nodiscard]] bool robust() const { return robust_.given(); }
  /// Whether it has the exchange format that costs least.
  [[nodiscard]] bool any_exchange() const { return any_exchange_; }

  Cluster cluster;
  ExportFlags exported;
  SearchFlags search;
  std::optional<std::string> output;

 private:
  [[nodiscard]] TrainerRules rules() const;
  [[nodiscard]] Status check_target() const;
  Status read_exchange();
  Result<std::vector<NamedCostModels>> load_models(const FlagSet& flags) const;
  Status check_written(const Workload& workload);
  void note_flags(const FlagSet& flags, const PlanInputs& inputs);

  std::string tables_;
  std::optional<std::int64_t> batch_size_;
  std::optional<std::string> buffers_;
  std::optional<std::string> exchange_;
  bool any_exchange_ = false;
  std::string cost_model_ = kDefaultCostModel;
  RobustFlag robust_;
  TorchRecBandwidths bandwidths_;
  PolicyFlags policy_;
  DenseModelFlags dense_;
};

}  // namespace neuroshard::apps
