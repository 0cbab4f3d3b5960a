#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard {

/// Cost models with what a plan's provenance records of them.
struct NamedCostModels {
  std::string name;    ///< shipped name, or the path as given
  std::string sha256;  ///< of the file's bytes
  CostModels models;
};

/// One line of the list of shipped models.
struct ShippedModelInfo {
  std::string name;
  std::string sha256;
  std::string hardware;
  Provenance provenance = Provenance::kSimulated;  ///< measured only if both halves are
};

/// The models linked into this library (models/*.safetensors at build time), by name.
Result<std::vector<ShippedModelInfo>> shipped_models();

/// The file's bytes of a shipped model; empty when there is none of that name.
std::string_view shipped_model_bytes(std::string_view name);

/// What `--cost-model` means: a shipped name, else a path. Errors: kInvalidInput naming the shipped
/// models when it is neither, or what is wrong with the file.
Result<NamedCostModels> load_cost_models(const std::string& name_or_path);

}  // namespace neuroshard
