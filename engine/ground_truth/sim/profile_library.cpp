#include "engine/ground_truth/sim/profile_library.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/embedded_file.h"
#include "engine/ground_truth/ground_truth.h"
#include "io/cost_data/machine_file.h"
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

/// Names of links in profiles have no dots.
bool is_machine_file(std::string_view links) {
  return links.find('/') != std::string_view::npos || links.find('.') != std::string_view::npos;
}

/// Null where there is none.
const EmbeddedFile* find_built_in(std::string_view name) {
  for (const EmbeddedFile& file : embedded_profiles()) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

/// A specification's profile and its links; "" of the first. Paths may have a '+', too.
struct ProfileWords {
  std::string name;
  std::string links;
};

ProfileWords words_of(const std::string& specification) {
  for (std::size_t plus = specification.find('+'); plus != std::string::npos;
       plus = specification.find('+', plus + 1)) {
    const std::string name = specification.substr(0, plus);
    if (find_built_in(name) != nullptr || name.ends_with(".json"))
      return {name, specification.substr(plus + 1)};
  }
  const std::size_t plus = specification.rfind('+');
  if (plus == std::string::npos || is_path(specification)) return {specification, ""};
  return {specification.substr(0, plus), specification.substr(plus + 1)};
}

/// Links that a file describes, and who has both.
Status take_machine_file(const std::string& path, ChosenProfile& chosen) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, io::read_text_file(path));
  NEUROSHARD_ASSIGN_OR_RETURN(
      chosen.interconnect, io::parse_machine_file(bytes, path, path.substr(path.rfind('/') + 1)));
  chosen.sha256 = io::sha256_hex(chosen.sha256 + io::sha256_hex(bytes));
  chosen.own_links = false;
  // What is known of its errors is of its own links.
  chosen.profile.published_error = chosen.profile.iteration_error = {};
  return {};
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
  if (const EmbeddedFile* const file = find_built_in(name)) {
    NEUROSHARD_ASSIGN_OR_RETURN(HardwareProfile profile,
                                io::parse_profile(file->bytes, "built-in profile " + name));
    return chosen(std::move(profile), "");
  }
  return invalid_input("profile '" + name +
                       "' is unknown, expected a path of a .json file or one of " +
                       joined(simulated_profile_names()));
}

}  // namespace

std::optional<PublishedError> published_error_of(const std::string& specification) {
  const auto [name, links] = words_of(specification);
  if (is_path(name) || is_machine_file(links)) return std::nullopt;
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
  const auto [name, wanted] = words_of(specification);
  NEUROSHARD_ASSIGN_OR_RETURN(ChosenProfile chosen, load(name));
  if (name == specification) return chosen;
  if (is_machine_file(wanted)) {
    NEUROSHARD_RETURN_IF_ERROR(take_machine_file(wanted, chosen));
    return chosen;
  }
  std::vector<std::string> names;
  for (const InterconnectProfile& link : chosen.profile.interconnects) {
    if (link.name == wanted) {
      chosen.interconnect = link;
      return chosen;
    }
    names.push_back(link.name);
  }
  return invalid_input("profile " + chosen.profile.name + " has no interconnect '" + wanted +
                       "', expected one of " + joined(names) + ", or a machine file");
}

}  // namespace neuroshard
