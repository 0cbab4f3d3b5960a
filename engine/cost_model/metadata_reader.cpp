#include "engine/cost_model/metadata_reader.h"

#include <charconv>
#include <system_error>

#include "io/text.h"

namespace neuroshard {
namespace {

/// Whether all of `text` is a number between the two.
template <typename Number>
bool parse_between(const std::string& text, Number low, Number high, Number& value) {
  const char* const stop = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), stop, value);
  return error == std::errc() && end == stop && value >= low && value <= high;
}

}  // namespace

std::optional<std::string> MetadataReader::take_optional(const std::string& key) {
  auto node = values_.extract(key);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

Result<std::string> MetadataReader::take(const std::string& key) {
  std::optional<std::string> value = take_optional(key);
  if (!value) return invalid_input("metadata " + key + ": missing");
  return *std::move(value);
}

Status MetadataReader::take_word(const std::string& key, const std::string& expected) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string value, take(key));
  if (value == expected) return {};
  return invalid_input("metadata " + key + ": found " + io::excerpt(value) + ", expected '" +
                       expected + "'");
}

Result<std::int64_t> MetadataReader::take_integer(const std::string& key, std::int64_t low,
                                                  std::int64_t high) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string text, take(key));
  std::int64_t value = 0;
  if (parse_between(text, low, high, value)) return value;
  return invalid_input("metadata " + key + ": found " + io::excerpt(text) +
                       ", expected an integer from " + std::to_string(low) + " to " +
                       std::to_string(high));
}

Result<double> MetadataReader::take_number(const std::string& key, double low, double high) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string text, take(key));
  double value = 0;
  if (parse_between(text, low, high, value)) return value;
  return invalid_input("metadata " + key + ": found " + io::excerpt(text) + ", expected " +
                       io::number_range(low, high));
}

Result<Provenance> MetadataReader::take_provenance(const std::string& key) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string text, take(key));
  for (const Provenance one : {Provenance::kMeasured, Provenance::kSimulated}) {
    if (text == word_of(one)) return one;
  }
  return invalid_input("metadata " + key + ": found " + io::excerpt(text) +
                       ", expected 'measured' or 'simulated'");
}

Status MetadataReader::finish(const std::string& otherwise) const {
  if (values_.empty()) return {};
  return invalid_input("metadata " + io::excerpt(values_.begin()->first) + ": unknown key" +
                       otherwise);
}

}  // namespace neuroshard
