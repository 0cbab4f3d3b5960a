#include "io/plans/plan_input.h"

#include <utility>

#include "io/file.h"
#include "io/json/json.h"
#include "io/plans/plan_file.h"
#include "io/sha256.h"

namespace neuroshard::io {

std::string_view PlanInput::format() const {
  constexpr std::string_view kNames[] = {kNativeFormat, kTorchRecFormat, kHugeCtrFormat};
  return kNames[content.index()];
}

std::int32_t PlanInput::devices() const {
  if (const auto* native = std::get_if<PlanDocument>(&content)) return native->plan.devices;
  if (const auto* torchrec = std::get_if<TorchRecPlan>(&content)) return torchrec->devices;
  return std::get<HugeCtrPlan>(content).devices;
}

std::int64_t PlanInput::batch_size() const {
  if (const auto* native = std::get_if<PlanDocument>(&content)) return native->batch_size;
  if (const auto* torchrec = std::get_if<TorchRecPlan>(&content)) return torchrec->batch_size;
  return 0;
}

PlanSetting PlanInput::setting() const {
  const auto* native = std::get_if<PlanDocument>(&content);
  return native == nullptr ? PlanSetting{} : native->setting;
}

ExchangeFormat PlanInput::exchange() const {
  if (const auto* native = std::get_if<PlanDocument>(&content)) return native->exchange;
  if (const auto* torchrec = std::get_if<TorchRecPlan>(&content)) return torchrec->exchange;
  return {};
}

PlanProvenance PlanInput::provenance() const {
  if (const auto* native = std::get_if<PlanDocument>(&content)) return native->provenance;
  if (const auto* torchrec = std::get_if<TorchRecPlan>(&content)) return torchrec->provenance;
  return {};
}

namespace {

template <typename Content>
Result<PlanInput> input_of(Result<Content> content, const std::string& source) {
  if (!content.ok()) return content.status();
  return PlanInput{std::move(*content), source};
}

enum class PlanKind { kOurs, kTorchRec, kHugeCtr };

/// Told apart by keys. The document is gone before the plan's reader makes its own.
Result<PlanKind> kind_of(std::string_view bytes, const std::string& source) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonDocument json, JsonDocument::parse(bytes, source));
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject root, json.root().object());
  if (root.has("format")) return PlanKind::kOurs;
  if (root.has("plan")) return PlanKind::kTorchRec;
  if (root.has("shard_matrix")) return PlanKind::kHugeCtr;
  return json.root().error(
      "found no key 'format', 'plan' or 'shard_matrix', expected a neuroshard-plan, a TorchRec "
      "plan or HugeCTR's lists");
}

}  // namespace

Result<PlanInput> parse_plan_input(std::string_view bytes, const std::string& source, PlanUse use) {
  NEUROSHARD_ASSIGN_OR_RETURN(const PlanKind kind, kind_of(bytes, source));
  if (kind == PlanKind::kTorchRec) return input_of(parse_torchrec_plan(bytes, source), source);
  if (kind == PlanKind::kHugeCtr) return input_of(parse_hugectr_plan(bytes, source), source);
  std::vector<std::string> faults;
  Result<PlanInput> input =
      input_of(parse_plan(bytes, source, use == PlanUse::kCheck ? &faults : nullptr), source);
  if (input.ok()) input->faults = std::move(faults);
  return input;
}

Result<PlanInput> read_plan_input(const std::string& path, PlanUse use) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, read_text_file(path));
  NEUROSHARD_ASSIGN_OR_RETURN(PlanInput input, parse_plan_input(bytes, source_name(path), use));
  input.sha256 = sha256_hex(bytes);
  return input;
}

}  // namespace neuroshard::io
