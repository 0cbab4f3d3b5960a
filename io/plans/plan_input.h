#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/core/status.h"
#include "io/plans/plan_document.h"
#include "io/trainers/hugectr_plan.h"
#include "io/trainers/torchrec_plan.h"

namespace neuroshard::io {

/// A parsed plan file.
struct PlanInput {
  std::variant<PlanDocument, TorchRecPlan, HugeCtrPlan> content;
  std::string source;    ///< for messages
  std::string sha256{};  ///< of the bytes of a file that was read
  /// Of a neuroshard-plan read to be checked: devices it does not have, one line each.
  std::vector<std::string> faults{};

  /// "json", "torchrec" or "hugectr": the name export_plan() knows.
  [[nodiscard]] std::string_view format() const;
  /// 0 = the file does not say.
  [[nodiscard]] std::int32_t devices() const;
  [[nodiscard]] std::int64_t batch_size() const;
  /// Of neuroshard-plans alone; empty where the file says nothing.
  [[nodiscard]] PlanSetting setting() const;
  /// fp32 where the file says nothing.
  [[nodiscard]] ExchangeFormat exchange() const;
  /// Empty where the file says nothing of how it was made.
  [[nodiscard]] PlanProvenance provenance() const;
};

/// What a plan is read for: to be checked, shards may say anything that lint_plan() can tell of.
enum class PlanUse { kBind, kCheck };

/// Errors: kInvalidInput naming source and JSON path.
Result<PlanInput> parse_plan_input(std::string_view bytes, const std::string& source,
                                   PlanUse use = PlanUse::kBind);
Result<PlanInput> read_plan_input(const std::string& path, PlanUse use = PlanUse::kBind);

}  // namespace neuroshard::io
