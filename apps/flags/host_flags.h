#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "apps/flags/flags.h"
#include "engine/core/status.h"
#include "engine/cost_model/shipped_models.h"

namespace neuroshard::apps {

/// --devices-per-host, with what else there is to say of it; 0 stays when it is not given.
FlagSet::Flag& declare_devices_per_host(FlagSet& flags, std::int32_t* out,
                                        const std::string& more = "");

/// --bandwidths and --cache-hits; what is not given stays. `of_plan`: whether a plan's are then
/// taken.
void declare_bandwidths(FlagSet& flags, TorchRecBandwidths* out, bool of_plan = false);

/// load_cost_models(); TorchRec's formula counts with those bandwidths.
Result<NamedCostModels> load_models_with(const std::string& name_or_path,
                                         const TorchRecBandwidths& bandwidths);
/// Devices of one host, and the plan that says so.
struct Hosts {
  std::int32_t devices = 0;  ///< 0: nobody says
  std::string plan{};        ///< its file; "": --devices-per-host says it

  /// kInvalidInput, naming who says so, when `all` devices are no whole number of such hosts.
  [[nodiscard]] Status check(std::int32_t all) const;
};

/// The same where the models go by hosts.
Status check_hosts(const NamedCostModels& models, const Hosts& hosts, std::int32_t devices);
/// Both for `devices` devices.
Result<NamedCostModels> load_models_for_hosts(const std::string& name_or_path, const Hosts& hosts,
                                              std::int32_t devices,
                                              const TorchRecBandwidths& bandwidths = {});

/// A remark on standard error when the flag is given and the cost models do not go by it. `changed`
/// is what does beside costs, as of changed_by_hosts().
void note_unknown_hosts(const FlagSet& flags, const NamedCostModels& models,
                        std::string_view changed = {});
/// The same of --bandwidths and --cache-hits.
void note_unknown_bandwidths(const FlagSet& flags, const NamedCostModels& models);

/// A remark on standard error on the hosts that a plan for `devices` is written for in that format
/// where neither --devices-per-host nor the plan says: nothing where all devices are usually on
/// one.
void note_usual_hosts(std::string_view format, std::int32_t devices);

/// What of a plan's file in that format goes by --devices-per-host, for people; "" for nothing.
std::string_view changed_by_hosts(std::string_view format);

}  // namespace neuroshard::apps
