#include "apps/commands/plan_setting.h"

#include <optional>
#include <utility>

#include "apps/console/output.h"
#include "apps/flags/host_flags.h"
#include "engine/core/bytes.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

/// `what` is "80 GB of device memory", `flag` what says otherwise.
void note_contradiction(const io::PlanInput& plan, const std::string& what, const std::string& flag,
                        const std::string& said) {
  print_note(plan.source + ": was made for " + what + ", " + flag + " says " + said);
}

void compare_bytes(std::int64_t given, std::int64_t own, const io::PlanInput& plan,
                   const std::string& what) {
  if (given == 0 || own == 0 || given == own) return;
  note_contradiction(plan, format_bytes_apart(own, given) + " of " + what + " memory",
                     "--" + what + "-memory", format_bytes_apart(given, own));
}

bool is_shipped(const std::string& name) {
  for (std::size_t index = 0; index < shipped_model_count(); ++index) {
    if (shipped_model_name(index) == name) return true;
  }
  return false;
}

/// Whether the models are those that the plan's costs are of, as far as that does not depend on
/// hosts and bandwidths, of which there are remarks of their own.
bool same_models(const io::PlanProvenance& made, const NamedCostModels& models) {
  if (made.cost_model != models.name) return false;
  return models.models.torchrec || made.cost_model_sha256 == models.sha256;
}

std::optional<TorchRecBandwidths> bandwidths_of(const io::PlanProvenance& made) {
  const std::vector<double>& own = made.bandwidths_gbps;
  if (own.size() != 4) return std::nullopt;
  TorchRecBandwidths bandwidths{own[0], own[1], own[2], own[3]};
  if (made.cache_hits == to_string(CacheHits::kCurve)) bandwidths.cache_hits = CacheHits::kCurve;
  return bandwidths;
}

/// What flags give of them, and for the rest what the plan was made with.
TorchRecBandwidths flags_over_plan(const FlagSet& flags, const TorchRecBandwidths& given,
                                   const TorchRecBandwidths& plans) {
  TorchRecBandwidths both = flags.given("bandwidths") ? given : plans;
  both.cache_hits = flags.given("cache-hits") ? given.cache_hits : plans.cache_hits;
  return both;
}

/// load_models_for_hosts(), with the plan's bandwidths as far as flags say none.
Result<NamedCostModels> cost_models_named(const std::string& name, const FlagSet& flags,
                                          const TorchRecBandwidths& bandwidths, const Hosts& hosts,
                                          const io::PlanDocument& document) {
  const std::optional<TorchRecBandwidths> own = bandwidths_of(document.provenance);
  const bool takes_own = own && release_of_model(name);
  return load_models_for_hosts(name, hosts, document.plan.devices,
                               takes_own ? flags_over_plan(flags, bandwidths, *own) : bandwidths);
}

}  // namespace

std::int64_t device_memory_of(std::int64_t given, const io::PlanInput& plan) {
  return given > 0 ? given : plan.setting().memory_bytes;
}

Result<std::int64_t> required_device_memory(std::int64_t given, const io::PlanInput& plan) {
  const std::int64_t bytes = device_memory_of(given, plan);
  if (bytes > 0) return bytes;
  return invalid_input("found no --device-memory, and " + plan.source +
                       " does not say it, expected memory for tables on each device, such as 80GB "
                       "or 24GiB");
}

std::int64_t host_memory_of(std::int64_t given, const io::PlanInput& plan) {
  return given > 0 ? given : plan.setting().host_memory_bytes;
}

Result<NamedCostModels> cost_models_of(const FlagSet& flags, const std::string& cost_model,
                                       const TorchRecBandwidths& bandwidths, const Hosts& hosts,
                                       const io::PlanInput& plan,
                                       const io::PlanDocument& document) {
  const io::PlanProvenance& made = document.provenance;
  const bool as_given = flags.given("cost-model") || made.cost_model.empty();
  const std::string name = as_given || !is_shipped(made.cost_model) ? cost_model : made.cost_model;
  NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels models,
                              cost_models_named(name, flags, bandwidths, hosts, document));
  if (!flags.given("cost-model") && !made.cost_model.empty() && !same_models(made, models)) {
    const std::string other = made.cost_model == models.name ? " (its sha256 differs)" : "";
    print_note(plan.source + ": was made by the cost model " + io::printable(made.cost_model) +
               ", here it is " + models.name + other);
  }
  return models;
}

Result<std::vector<NamedCostModels>> all_cost_models_of(
    const FlagSet& flags, const std::vector<std::string>& names, const std::string& cost_model,
    const TorchRecBandwidths& bandwidths, const Hosts& hosts, const io::PlanInput& plan,
    const io::PlanDocument& document) {
  std::vector<NamedCostModels> all;
  for (const std::string& name : names) {
    NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels one,
                                cost_models_named(name, flags, bandwidths, hosts, document));
    all.push_back(std::move(one));
  }
  if (!all.empty()) return all;
  NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels one,
                              cost_models_of(flags, cost_model, bandwidths, hosts, plan, document));
  all.push_back(std::move(one));
  return all;
}

void note_other_dense_model(const io::PlanInput& plan, const NamedCostModels& models,
                            std::string_view of_steps) {
  const io::PlanProvenance made = plan.provenance();
  if (made.dense_model.empty()) return;
  const std::string was =
      plan.source + ": was made for whole steps of " + io::printable(made.dense_model) + ", ";
  if (!models.models.dense) {
    print_note(was + "here costs are of the tables alone: " + std::string(of_steps));
  } else if (models.models.dense->origin().sha256 != made.dense_model_sha256) {
    print_note(was + "--model says another one");
  }
}

std::string other_cost_model(const io::PlanInput& plan, const NamedCostModels& models) {
  const io::PlanProvenance made = plan.provenance();
  if (made.cost_model.empty() || same_models(made, models)) return "";
  return ", the plan was made by " +
         (made.cost_model == models.name ? "another of that name" : io::printable(made.cost_model));
}

std::optional<TorchRecBandwidths> bandwidths_given(const FlagSet& flags,
                                                   const NamedCostModels& models) {
  const bool given = flags.given("bandwidths") || flags.given("cache-hits");
  if (!given || !models.models.torchrec) return std::nullopt;
  return *models.models.torchrec;
}

std::optional<ExchangeFormat> exchange_given(const std::optional<std::string>& word,
                                             const ExchangeFormat& format) {
  return word ? std::optional(format) : std::nullopt;
}

void note_contradictions(const GivenSetting& given, const io::PlanInput& plan,
                         std::int32_t plan_hosts) {
  const io::PlanSetting own = plan.setting();
  compare_bytes(given.memory_bytes, own.memory_bytes, plan, "device");
  compare_bytes(given.host_memory_bytes, own.host_memory_bytes, plan, "host");
  if (given.devices_per_host > 0 && plan_hosts > 0 && given.devices_per_host != plan_hosts) {
    note_contradiction(plan, "hosts of " + std::to_string(plan_hosts) + " devices",
                       "--devices-per-host", std::to_string(given.devices_per_host));
  }
  if (given.exchange && !(*given.exchange == plan.exchange())) {
    note_contradiction(plan, "exchanges in " + to_string(plan.exchange()), "--exchange",
                       to_string(*given.exchange));
  }
  const std::optional<TorchRecBandwidths> made = bandwidths_of(plan.provenance());
  if (made && given.bandwidths && !(*made == *given.bandwidths)) {
    const bool hits = made->cache_hits != given.bandwidths->cache_hits;
    print_note(plan.source +
               (hits ? ": was made with cache hits by " + std::string(to_string(made->cache_hits)) +
                           ", --cache-hits says " +
                           std::string(to_string(given.bandwidths->cache_hits))
                     : ": was made for other bandwidths than --bandwidths says"));
  }
}

}  // namespace neuroshard::apps
