#include "engine/ground_truth/sim/profile_library.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/embedded_file.h"
#include "engine/ground_truth/ground_truth.h"
#include "io/cost_data/profile.h"
#include "io/file.h"
#include "io/sha256.h"

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

/// With its first interconnect.
Result<ChosenProfile> load(const std::string& name) {
  const auto chosen = [](HardwareProfile profile, std::string sha256) {
    InterconnectProfile first = profile.interconnects.front();
    return ChosenProfile{std::move(profile), std::move(first), std::move(sha256)};
  };
  if (is_path(name)) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, io::read_text_file(name));
    NEUROSHARD_ASSIGN_OR_RETURN(HardwareProfile profile, io::parse_profile(bytes, name));
    return chosen(std::move(profile), io::sha256_hex(bytes));
  }
  for (const EmbeddedFile& file : embedded_profiles()) {
    if (file.name != name) continue;
    NEUROSHARD_ASSIGN_OR_RETURN(HardwareProfile profile,
                                io::parse_profile(file.bytes, "built-in profile " + name));
    return chosen(std::move(profile), "");
  }
  return invalid_input("profile '" + name +
                       "' is unknown, expected a path of a .json file or one of " +
                       joined(simulated_profile_names()));
}

}  // namespace

std::optional<PublishedError> published_error_of(const std::string& specification) {
  const std::string name = specification.substr(0, specification.rfind('+'));
  if (is_path(name)) return std::nullopt;
  const Result<ChosenProfile> chosen = load(name);
  if (!chosen.ok() || chosen->profile.published_error.source.empty()) return std::nullopt;
  const SourcedValue& error = chosen->profile.published_error;
  return PublishedError{error.value, error.source};
}

std::optional<PublishedError> published_error_of(
    const std::string& profile, const std::map<std::string, std::string>& settings) {
  if (settings.contains("profile-sha256")) return std::nullopt;
  return published_error_of(profile);
}

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
  NEUROSHARD_ASSIGN_OR_RETURN(ChosenProfile chosen, load(specification.substr(0, plus)));
  if (plus == std::string::npos) return chosen;
  const std::string wanted = specification.substr(plus + 1);
  std::vector<std::string> names;
  for (const InterconnectProfile& link : chosen.profile.interconnects) {
    if (link.name == wanted) {
      chosen.interconnect = link;
      return chosen;
    }
    names.push_back(link.name);
  }
  return invalid_input("profile " + chosen.profile.name + " has no interconnect '" + wanted +
                       "', expected one of " + joined(names));
}

}  // namespace neuroshard
