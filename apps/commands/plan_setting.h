#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/commands/plan_input.h"
#include "apps/flags/flags.h"
#include "engine/core/status.h"
#include "engine/cost_model/shipped_models.h"
#include "io/plans/plan_file.h"

// What commands are told by flags or, without them, take from the plan. A flag wins; where it says
// otherwise than the plan, note_contradictions() tells of it, once nothing is wrong.

namespace neuroshard::apps {

/// Bytes of each device: --device-memory's (0: not given), else the plan's, else 0.
std::int64_t device_memory_of(std::int64_t given, const io::PlanInput& plan);
/// The same where there has to be one: kInvalidInput naming the plan without.
Result<std::int64_t> required_device_memory(std::int64_t given, const io::PlanInput& plan);
/// Bytes of each host by --host-memory, in the same way; 0: not watched.
std::int64_t host_memory_of(std::int64_t given, const io::PlanInput& plan);

/// load_models_for_hosts() of the cost model, and the bandwidths, that flags or the plan name. A
/// plan names cost models of a file without their folder: a remark says that others are taken.
/// `hosts` are those of hosts_of().
Result<NamedCostModels> cost_models_of(const FlagSet& flags, const std::string& cost_model,
                                       const TorchRecBandwidths& bandwidths, const Hosts& hosts,
                                       const io::PlanInput& plan, const io::PlanDocument& document);

/// Those of all `names`, whatever the plan was made by; without any, cost_models_of() alone.
Result<std::vector<NamedCostModels>> all_cost_models_of(
    const FlagSet& flags, const std::vector<std::string>& names, const std::string& cost_model,
    const TorchRecBandwidths& bandwidths, const Hosts& hosts, const io::PlanInput& plan,
    const io::PlanDocument& document);

/// A remark on standard error where a plan's costs were of whole training steps, and those of the
/// models are not, or of those of another model. `of_steps`: how to get such costs.
void note_other_dense_model(const io::PlanInput& plan, const NamedCostModels& models,
                            std::string_view of_steps = "--model takes the model's file");

/// ", the plan was made by torchrec": what stands behind the name of cost models that the costs
/// shown are of; "" where the plan was made by them, or does not say.
std::string other_cost_model(const io::PlanInput& plan, const NamedCostModels& models);

/// What flags said; 0 and nothing: not given.
struct GivenSetting {
  std::int64_t memory_bytes = 0;
  std::int64_t host_memory_bytes = 0;
  std::int32_t devices_per_host = 0;
  std::optional<TorchRecBandwidths> bandwidths{};
  std::optional<ExchangeFormat> exchange{};
};
/// The format, where --exchange is given.
std::optional<ExchangeFormat> exchange_given(const std::optional<std::string>& word,
                                             const ExchangeFormat& format);
/// What the models count with, where a flag says some of it.
std::optional<TorchRecBandwidths> bandwidths_given(const FlagSet& flags,
                                                   const NamedCostModels& models);
/// A remark on standard error for each that says otherwise than the plan. `plan_hosts` are those of
/// the plan, 0: not said.
void note_contradictions(const GivenSetting& given, const io::PlanInput& plan,
                         std::int32_t plan_hosts = 0);

}  // namespace neuroshard::apps
