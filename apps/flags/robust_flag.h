#pragma once

#include <span>
#include <string>
#include <vector>

#include "apps/flags/exchange_flag.h"
#include "apps/flags/flags.h"
#include "engine/core/status.h"
#include "engine/cost_model/shipped_models.h"

namespace neuroshard::apps {

/// --robust: the cost models that one plan is for, in place of --cost-model.
class RobustFlag {
 public:
  void declare(FlagSet& flags);

  [[nodiscard]] bool given() const { return !names_.empty(); }
  /// kInvalidInput for a format that searches are to choose.
  [[nodiscard]] Status check(const ExchangeAsked& exchange) const;
  /// Those of the flag, where it is given. Errors: kInvalidInput with --cost-model and for one
  /// alone.
  [[nodiscard]] Result<std::vector<std::string>> names(const FlagSet& flags) const;

 private:
  std::vector<std::string> names_;
};

/// In their order, which is the first one's costs first.
std::vector<const CostModels*> pointers_to(std::span<const NamedCostModels> models);

}  // namespace neuroshard::apps
