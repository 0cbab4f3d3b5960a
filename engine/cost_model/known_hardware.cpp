#include "engine/cost_model/known_hardware.h"

#include <span>
#include <string>
#include <string_view>

#include "engine/core/embedded_file.h"
#include "io/cost_data/profile.h"

namespace neuroshard {

/// Generated from ground_truth/sim/profiles/*.json (cmake/neuroshard_embed.cmake).
std::span<const EmbeddedFile> embedded_profiles();

std::optional<double> copy_gbps_of(const ModelOrigin& origin) {
  if (origin.provenance != Provenance::kSimulated) return std::nullopt;
  // "H200-141G, cluster (simulated)": the profile, and its links.
  const std::string_view name =
      std::string_view(origin.hardware).substr(0, origin.hardware.find(','));
  for (const EmbeddedFile& file : embedded_profiles()) {
    if (file.name != name) continue;
    const auto profile = io::parse_profile(file.bytes, std::string(name));
    if (profile.ok()) return profile->dram_gbps.value;
  }
  return std::nullopt;
}

}  // namespace neuroshard
