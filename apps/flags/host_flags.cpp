#include "apps/flags/host_flags.h"

#include "apps/console/output.h"
#include "engine/core/cluster.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/capability_words.h"
#include "io/formats/plan_formats.h"

namespace neuroshard::apps {

FlagSet::Flag& declare_devices_per_host(FlagSet& flags, std::int32_t* out,
                                        const std::string& more) {
  return flags.integer("devices-per-host", "devices of one host, in order" + more, out, 1,
                       kMaxDevices);
}

void declare_bandwidths(FlagSet& flags, TorchRecBandwidths* out, bool of_plan) {
  FlagSet::Flag& bandwidths = flags.numbers(
      "bandwidths", "HBM,INTRA,INTER[,HOST]",
      "what the cost model torchrec counts with, in GB/s of 2^30 bytes: a "
      "device's memory, all-to-all on one host, between hosts, and, of tables in "
      "host memory, between a device and that",
      {&out->device_gbps, &out->intra_host_gbps, &out->inter_host_gbps, &out->host_memory_gbps},
      {kMinTorchRecGbps, kMaxTorchRecGbps, true}, 1);
  FlagSet::Flag& hits = flags.value_of(
      "cache-hits", "NAME",
      "of tables in host memory, what the cost model torchrec takes a cache of 5 % of the rows to "
      "serve: load-factor (5 % of the lookups, as TorchRec's planner does) or curve (what the "
      "table's histogram tells of its hot rows)",
      &out->cache_hits, all_cache_hits());
  if (!of_plan) return;
  bandwidths.default_text("the plan's, or 897,600,12.5,32");
  hits.default_text("the plan's, or load-factor");
}

Result<NamedCostModels> load_models_with(const std::string& name_or_path,
                                         const TorchRecBandwidths& bandwidths) {
  NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels models, load_cost_models(name_or_path));
  set_bandwidths(bandwidths, models);
  return models;
}

Status Hosts::check(std::int32_t all) const {
  if (devices == 0 || all % devices == 0) return {};
  const std::string expected = ", expected a divisor of " + std::to_string(all) + " devices";
  if (plan.empty()) {
    return invalid_input("--devices-per-host: found " + std::to_string(devices) + expected);
  }
  return invalid_input(plan + ": found " + std::to_string(devices) + " devices per host" +
                       expected + "; --devices-per-host says others");
}

Status check_hosts(const NamedCostModels& models, const Hosts& hosts, std::int32_t devices) {
  return capabilities(models.models).hosts ? hosts.check(devices) : Status();
}

Result<NamedCostModels> load_models_for_hosts(const std::string& name_or_path, const Hosts& hosts,
                                              std::int32_t devices,
                                              const TorchRecBandwidths& bandwidths) {
  NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels models, load_models_with(name_or_path, bandwidths));
  NEUROSHARD_RETURN_IF_ERROR(check_hosts(models, hosts, devices));
  return models;
}

void note_unknown_hosts(const FlagSet& flags, const NamedCostModels& models,
                        std::string_view changed) {
  if (!flags.given("devices-per-host") || capabilities(models.models).hosts) return;
  const std::string what = changed.empty() ? "nothing" : std::string(changed) + " only";
  print_note("--devices-per-host: changes " + what + ", " + has_its_hosts(models.name));
}

void note_usual_hosts(std::string_view format, std::int32_t devices) {
  if (devices <= kUsualHost || changed_by_hosts(format).empty()) return;
  const std::int32_t each = host_devices(devices);
  print_note(std::to_string(devices) + " devices are taken for " +
             (each == 0 ? "one host" : "hosts of " + std::to_string(each)) +
             ": --devices-per-host says others");
}

std::string_view changed_by_hosts(std::string_view format) {
  const io::PlanFormat* known = io::find_plan_format(format);
  return known == nullptr ? std::string_view() : known->by_hosts;
}

void note_unknown_bandwidths(const FlagSet& flags, const NamedCostModels& models) {
  if (capabilities(models.models).settable_bandwidths) return;
  if (flags.given("bandwidths")) {
    print_note("--bandwidths: changes nothing, " + only_torchrec("counts with them"));
  }
  if (flags.given("cache-hits")) {
    print_note("--cache-hits: changes nothing, " + only_torchrec("knows tables in host memory"));
  }
}

}  // namespace neuroshard::apps
