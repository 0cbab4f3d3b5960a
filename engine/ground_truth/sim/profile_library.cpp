#include "engine/ground_truth/sim/profile_library.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/embedded_file.h"
#include "engine/ground_truth/ground_truth.h"
#include "io/profile.h"

namespace neuroshard {

/// Generated from sim/profiles/*.json (cmake/neuroshard_embed.cmake).
std::span<const EmbeddedFile> embedded_profiles();

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool is_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".json");
}

Result<HardwareProfile> load(const std::string& name) {
  if (is_path(name)) return io::read_profile(name);
  for (const EmbeddedFile& file : embedded_profiles()) {
    if (file.name == name) return io::parse_profile(file.bytes, "built-in profile " + name);
  }
  return invalid_input("profile '" + name +
                       "' is unknown, expected a path of a .json file or one of " +
                       joined(simulated_profile_names()));
}

}  // namespace

std::vector<std::string> simulated_profile_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_profiles()) names.emplace_back(file.name);
  std::sort(names.begin(), names.end());
  return names;
}

Result<ChosenProfile> choose_profile(const std::string& specification) {
  // A '+' belongs to the interconnect only after the last '/': paths may contain one.
  const std::size_t slash = specification.rfind('/');
  std::size_t plus = specification.rfind('+');
  if (plus != std::string::npos && slash != std::string::npos && plus < slash) {
    plus = std::string::npos;
  }
  NEUROSHARD_ASSIGN_OR_RETURN(HardwareProfile profile, load(specification.substr(0, plus)));
  if (plus == std::string::npos) {
    InterconnectProfile first = profile.interconnects.front();
    return ChosenProfile{std::move(profile), std::move(first)};
  }
  const std::string wanted = specification.substr(plus + 1);
  std::vector<std::string> names;
  for (const InterconnectProfile& link : profile.interconnects) {
    if (link.name == wanted) {
      InterconnectProfile chosen = link;
      return ChosenProfile{std::move(profile), std::move(chosen)};
    }
    names.push_back(link.name);
  }
  return invalid_input("profile " + profile.name + " has no interconnect '" + wanted +
                       "', expected one of " + joined(names));
}

}  // namespace neuroshard
