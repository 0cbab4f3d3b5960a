#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard {

/// Takes keys out of the metadata of a file, so that what nobody took can be reported as unknown.
/// Errors name the key, what was found and what was expected, not the file.
class MetadataReader {
 public:
  explicit MetadataReader(std::map<std::string, std::string> values) : values_(std::move(values)) {}

  [[nodiscard]] bool has(const std::string& key) const { return values_.contains(key); }
  std::optional<std::string> take_optional(const std::string& key);
  Result<std::string> take(const std::string& key);
  Status take_word(const std::string& key, const std::string& expected);
  Result<std::int64_t> take_integer(const std::string& key, std::int64_t low, std::int64_t high);
  Result<double> take_number(const std::string& key, double low, double high);
  Result<Provenance> take_provenance(const std::string& key);
  /// Error when a key has not been taken; `otherwise` is what it may be instead of unknown.
  [[nodiscard]] Status finish(const std::string& otherwise = "") const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace neuroshard
