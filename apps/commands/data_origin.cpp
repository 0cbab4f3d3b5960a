#include "apps/commands/data_origin.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "apps/console/words.h"
#include "engine/ground_truth/sim/profile_library.h"
#include "io/file.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

constexpr const char* kUnknownHardware = "unknown";

/// What the directory says of itself; nothing without a collection.json.
Result<std::optional<ModelOrigin>> stated_origin(const std::string& directory) {
  const std::string file = directory + "/collection.json";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::optional<ModelOrigin>();
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, io::read_text_file(file));
  NEUROSHARD_ASSIGN_OR_RETURN(const io::Collection collection, io::parse_collection(bytes, file));
  ModelOrigin origin{collection.hardware, Provenance::kMeasured};
  if (collection.simulated()) {
    origin.provenance = Provenance::kSimulated;
    origin.published = published_error_of(collection.profile, collection.flags);
  }
  return std::optional(std::move(origin));
}

/// kInvalidInput when two of them are one directory.
Status check_each_once(std::span<const std::string> directories) {
  for (std::size_t k = 0; k < directories.size(); ++k) {
    for (const std::string& earlier : directories.first(k)) {
      std::error_code ignored;
      if (!std::filesystem::equivalent(earlier, directories[k], ignored)) continue;
      return invalid_input("--data: found '" + directories[k] +
                           "' twice, expected it once: it would be learned from and judged by");
    }
  }
  return {};
}

}  // namespace

void declare_data_origin(FlagSet& flags, std::optional<std::string>* hardware,
                         std::optional<std::string>* provenance) {
  flags.text("hardware", "TEXT", "what the data was measured on, instead of its own words",
             hardware);
  flags.choice("provenance", "WORD", "measured or simulated, for data that does not say",
               provenance, {"measured", "simulated"});
}

Result<ModelOrigin> origin_of(std::span<const std::string> directories,
                              const std::optional<std::string>& hardware,
                              const std::optional<std::string>& provenance) {
  NEUROSHARD_RETURN_IF_ERROR(check_each_once(directories));
  if (hardware && io::printable(*hardware) != *hardware) {  // no reader takes such a model
    return invalid_input("--hardware: found " + io::excerpt(*hardware) +
                         ", expected text without control characters");
  }
  const Provenance told =
      provenance == "simulated" ? Provenance::kSimulated : Provenance::kMeasured;
  bool simulated = false;
  bool compared = true;
  std::optional<PublishedError> published;
  std::vector<std::string> names;
  for (const std::string& directory : directories) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::optional<ModelOrigin> stated, stated_origin(directory));
    if (stated && provenance && stated->provenance != told) {
      return invalid_input("--provenance: found '" + *provenance + "', but " + directory +
                           "/collection.json says " + std::string(word_of(stated->provenance)));
    }
    const ModelOrigin origin = stated.value_or(ModelOrigin{kUnknownHardware, told});
    if (origin.provenance == Provenance::kSimulated) {
      simulated = true;
      compared &= origin.published.has_value();
      // The least true of the simulations that there are.
      if (!published || (compared && origin.published->share > published->share)) {
        published = origin.published;
      }
    }
    if (std::find(names.begin(), names.end(), origin.hardware) == names.end()) {
      names.push_back(origin.hardware);
    }
  }
  return ModelOrigin{hardware.value_or(join(names, "; ")),
                     simulated ? Provenance::kSimulated : Provenance::kMeasured,
                     compared ? published : std::nullopt};
}

}  // namespace neuroshard::apps
