#include "apps/flags/host_flags.h"

#include "apps/console/output.h"
#include "engine/core/cluster.h"

namespace neuroshard::apps {

FlagSet::Flag& declare_devices_per_host(FlagSet& flags, std::int32_t* out) {
  return flags.integer("devices-per-host", "devices of one host, in order", out, 1, kMaxDevices);
}

Result<NamedCostModels> load_models_for_hosts(const std::string& name_or_path,
                                              std::int32_t devices_per_host, std::int32_t devices) {
  NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels models, load_cost_models(name_or_path));
  if (devices_per_host == 0 || !models.models.torchrec) return models;
  if (devices % devices_per_host != 0) {
    return invalid_input("devices per host: found " + std::to_string(devices_per_host) +
                         ", expected a divisor of " + std::to_string(devices) + " devices");
  }
  set_hosts(devices_per_host, models);
  return models;
}

void note_unknown_hosts(const FlagSet& flags, const NamedCostModels& models) {
  if (!flags.given("devices-per-host") || models.models.torchrec) return;
  print_note("--devices-per-host: changes nothing, " + models.name + " knows no hosts");
}

}  // namespace neuroshard::apps
