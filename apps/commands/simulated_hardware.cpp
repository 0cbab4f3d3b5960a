#include "apps/commands/simulated_hardware.h"

#include <utility>

#include "apps/console/output.h"
#include "engine/ground_truth/sim/plan_model.h"

namespace neuroshard::apps {

Result<ChosenProfile> simulated_hardware(const std::string& profile, const SaidHosts& hosts,
                                         std::int32_t devices) {
  NEUROSHARD_ASSIGN_OR_RETURN(ChosenProfile hardware, choose_profile(profile));
  const bool links_chosen = profile.rfind('+') != std::string::npos;
  const bool no_hosts =
      hardware.interconnect.devices_per_host.value == 0 && hosts.given == 0 && !hosts.plan_insists;
  const std::int32_t said = hosts.given > 0 ? hosts.given : hosts.plans;
  if (said == 0 && !links_chosen && between_hosts(hardware, devices)) {
    print_note(profile + ": hosts have " +
               std::to_string(static_cast<int>(hardware.interconnect.devices_per_host.value)) +
               " devices, " + std::to_string(devices) + " take its " + hardware.interconnect.name +
               " links; +LINKS picks others");
  }
  if (said > 0 && !no_hosts) return with_hosts(std::move(hardware), said, devices);
  return hardware;
}

}  // namespace neuroshard::apps
