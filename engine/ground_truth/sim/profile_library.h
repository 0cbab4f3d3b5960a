#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/hardware_profile.h"
#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard {

/// A profile with one of its interconnects chosen.
struct ChosenProfile {
  HardwareProfile profile;
  InterconnectProfile interconnect;
  std::string sha256;     ///< of the files that it is from; "" of a built-in one
  bool own_links = true;  ///< whether the interconnect is one of the profile's
};

/// "NAME", "NAME+INTERCONNECT", "path.json" or "path.json+INTERCONNECT"; without an interconnect
/// the profile's first. A name without '/' and ".json" is a built-in one, an interconnect with '/'
/// or '.' the path of a machine file (io::parse_machine_file()). Errors: kInvalidInput listing the
/// known names, or naming what is wrong with the file.
Result<ChosenProfile> choose_profile(const std::string& specification);

/// How far a built-in profile, "NAME" or "NAME+INTERCONNECT", is from published measurements;
/// nothing for other names, and where that is not known.
std::optional<PublishedError> published_error_of(const std::string& specification);

/// The same of what measured something, by its GroundTruth::profile() and settings(): nothing for a
/// profile from a file, which may have the name of a built-in one.
std::optional<PublishedError> published_error_of(
    const std::string& profile, const std::map<std::string, std::string>& settings);

/// Names of the profiles linked into the binary, sorted.
std::vector<std::string> simulated_profile_names();

}  // namespace neuroshard
