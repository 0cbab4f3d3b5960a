#include "apps/flags/robust_flag.h"

namespace neuroshard::apps {

void RobustFlag::declare(FlagSet& flags) {
  flags.list("robust", "MODEL,MODEL,..",
             "instead of --cost-model: a plan that is nearly best by each of these cost models, "
             "with the smallest largest regret; limits are those of a search under each",
             &names_);
}

Status RobustFlag::check(const ExchangeAsked& exchange) const {
  if (!exchange.any || !given()) return {};
  return invalid_input("--exchange: found 'auto' with --robust, expected a format");
}

Result<std::vector<std::string>> RobustFlag::names(const FlagSet& flags) const {
  if (given() && flags.given("cost-model")) {
    return invalid_input("--robust: found with --cost-model, expected one of the two");
  }
  if (names_.size() == 1) {
    return invalid_input("--robust: found one cost model, expected at least 2");
  }
  return names_;
}

std::vector<const CostModels*> pointers_to(std::span<const NamedCostModels> models) {
  std::vector<const CostModels*> pointers;
  for (const NamedCostModels& one : models) pointers.push_back(&one.models);
  return pointers;
}

}  // namespace neuroshard::apps
