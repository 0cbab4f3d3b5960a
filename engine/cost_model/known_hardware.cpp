#include "engine/cost_model/known_hardware.h"

#include <span>
#include <string>
#include <string_view>

#include "engine/core/embedded_file.h"
#include "io/cost_data/profile.h"

namespace neuroshard {

/// Generated from ground_truth/sim/profiles/*.json (cmake/neuroshard_embed.cmake).
std::span<const EmbeddedFile> embedded_profiles();

std::optional<KnownHardware> known_hardware(const ModelOrigin& origin) {
  if (origin.provenance != Provenance::kSimulated) return std::nullopt;
  // "H200-141G, cluster (simulated)": the profile, and its links.
  const std::string_view text = origin.hardware;
  const std::size_t comma = text.find(", ");
  if (comma == std::string_view::npos) return std::nullopt;
  const std::string_view name = text.substr(0, comma);
  const std::string_view links = text.substr(comma + 2, text.find(" (") - comma - 2);
  for (const EmbeddedFile& file : embedded_profiles()) {
    if (file.name != name) continue;
    const auto profile = io::parse_profile(file.bytes, std::string(name));
    if (!profile.ok()) return std::nullopt;
    for (const InterconnectProfile& link : profile->interconnects) {
      if (link.name == links) {
        return KnownHardware{profile->dram_gbps.value, profile->exchange_copies.value, link,
                             std::string(name) + "+" + std::string(links)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace neuroshard
