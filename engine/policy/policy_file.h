#pragma once

#include <string>
#include <string_view>

#include "engine/core/status.h"
#include "engine/policy/policy_model.h"

namespace neuroshard {

/// A safetensors file with metadata format=neuroshard-policy, version 1 (docs/FILE_FORMATS.md). The
/// same bytes for the same model. REQUIRES validate(model).ok().
std::string format_policy(const PolicyModel& model);

/// Errors: kInvalidInput naming the source and the key or tensor that is missing, unknown or out of
/// range, or which parts do not fit each other.
Result<PolicyModel> parse_policy(std::string_view bytes, const std::string& source);

/// The same from a file, or standard input for "-".
Result<PolicyModel> read_policy(const std::string& path);

}  // namespace neuroshard
