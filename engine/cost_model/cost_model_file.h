#pragma once

#include <string>
#include <string_view>

#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard {

/// Cost models from the bytes of a safetensors file: metadata and tensors as in docs/FILE_FORMATS
/// ("Cost models"). Either half (compute, communication) may be missing, a half may not: every
/// tensor is checked against the metadata and its neighbours, and unknown tensors or metadata keys
/// are errors. Errors: kInvalidInput, "<source>: compute.head.0.weight: shape [64,31], expected
/// [64,32]".
Result<CostModels> parse_cost_models(std::string_view bytes, const std::string& source);

/// The file's bytes; the same models give the same bytes, and parse_cost_models() gives them back
/// exactly.
std::string format_cost_models(const CostModels& models);

}  // namespace neuroshard
