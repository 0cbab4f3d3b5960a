#pragma once

#include <optional>
#include <span>
#include <string>

#include "apps/flags/flags.h"
#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"
#include "io/cost_data/collection.h"

namespace neuroshard::apps {

/// --hardware and --provenance: what origin_of() takes of the user.
void declare_data_origin(FlagSet& flags, std::optional<std::string>* hardware,
                         std::optional<std::string>* provenance);

/// Where the numbers of data directories come from: what their collection.json files say.
/// `hardware` replaces that text; `provenance` ("measured" or "simulated") is for directories
/// without collection.json, "measured" when nothing is given. Errors: a bad collection.json, a
/// provenance other than the one a directory states, a directory that is there twice, or `hardware`
/// that a terminal obeys.
Result<ModelOrigin> origin_of(std::span<const std::string> directories,
                              const std::optional<std::string>& hardware,
                              const std::optional<std::string>& provenance);

}  // namespace neuroshard::apps
