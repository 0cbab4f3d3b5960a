#include "io/json/json.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "io/text.h"

namespace neuroshard::io {
namespace {

/// Of a number in a message.
constexpr std::size_t kNumberBytes = 40;

/// Reads all of `text` as a T; false when it is not one or does not fit.
template <typename T>
bool convert(std::string_view text, T& value) {
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc() && end == last;
}

/// ".rows", or ['my rows'] for keys that are no plain words.
std::string path_step(std::string_view key) {
  const bool plain =
      !key.empty() && key.size() <= 40 && std::all_of(key.begin(), key.end(), [](char character) {
        return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_';
      });
  return plain ? "." + std::string(key) : "[" + excerpt(key) + "]";
}

/// All steps, or where they are many the first and the last of them.
std::string joined_path(const std::vector<std::string>& steps) {
  constexpr std::size_t kHalfBytes = 300;
  std::string begin = "$";
  std::size_t first = 0;
  while (first < steps.size() && begin.size() < kHalfBytes) begin += steps[first++];
  std::string end;
  std::size_t last = steps.size();
  while (last > first && end.size() < kHalfBytes) end = steps[--last] + end;
  return begin + (last > first ? "[...]" : "") + end;
}

std::string list(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

}  // namespace

std::size_t JsonDocument::after(std::size_t node) const {
  const auto kind = static_cast<JsonValue::Kind>(nodes_[node].kind);
  const bool container = kind == JsonValue::Kind::kArray || kind == JsonValue::Kind::kObject;
  return container ? nodes_[node].place : node + 1;
}

JsonValue::Kind JsonValue::kind() const { return static_cast<Kind>(document_->nodes_[node_].kind); }

std::string JsonValue::path() const {
  // Nodes know no parent: from the root down, always into the child that the node is a part of.
  std::vector<std::string> steps;
  std::size_t node = 0;
  while (node != node_) {
    const bool object = JsonValue(*document_, node).is_object();
    std::size_t child = node + 1;
    for (std::size_t index = 0;; ++index) {
      const std::size_t value = object ? child + 1 : child;
      const std::size_t next = document_->after(value);
      if (node_ < next) {
        steps.push_back(object ? path_step(document_->text_of(child))
                               : "[" + std::to_string(index) + "]");
        node = value;
        break;
      }
      child = next;
    }
  }
  return joined_path(steps);
}

Status JsonValue::error(const std::string& message) const {
  return invalid_input(document_->source() + ": " + path() + ": " + message);
}

Status JsonValue::unexpected(const std::string& expected) const {
  std::string found;
  const std::size_t size = document_->nodes_[node_].size;
  switch (kind()) {
    case Kind::kNull:
      found = "null";
      break;
    case Kind::kFalse:
      found = "false";
      break;
    case Kind::kTrue:
      found = "true";
      break;
    case Kind::kNumber:
      found = document_->text_of(node_);
      if (found.size() > kNumberBytes) found.replace(kNumberBytes, found.npos, "...");
      break;
    case Kind::kString:
      found = excerpt(document_->text_of(node_));
      break;
    case Kind::kArray:
      found = "an array of " + std::to_string(size);
      break;
    case Kind::kObject:
      found = "an object";
      break;
  }
  return error("found " + found + ", expected " + expected);
}

Result<std::int64_t> JsonValue::integer(std::int64_t low, std::int64_t high) const {
  std::int64_t value = 0;
  if (kind() != Kind::kNumber || !convert(document_->text_of(node_), value) || value < low ||
      value > high) {
    return unexpected(integer_range(low, high));
  }
  return value;
}

// Numbers are kept as text: a double does not hold every seed of 64 bits.
Result<std::uint64_t> JsonValue::unsigned_integer() const {
  std::uint64_t value = 0;
  if (kind() != Kind::kNumber || !convert(document_->text_of(node_), value)) {
    return unexpected("an integer from 0 to 18446744073709551615");
  }
  return value;
}

Result<double> JsonValue::number(double low, double high) const {
  double value = 0;
  if (kind() != Kind::kNumber || !convert(document_->text_of(node_), value) || value < low ||
      value > high) {
    return unexpected(number_range(low, high));
  }
  return value;
}

Result<bool> JsonValue::boolean() const {
  if (kind() != Kind::kTrue && kind() != Kind::kFalse) return unexpected("true or false");
  return kind() == Kind::kTrue;
}

Result<std::string_view> JsonValue::text() const {
  if (!is_string()) return unexpected("a string");
  return document_->text_of(node_);
}

Result<JsonArray> JsonValue::array() const {
  if (!is_array()) return unexpected("an array");
  return JsonArray(*this);
}

Result<JsonArray> JsonValue::array(std::size_t exactly) const {
  if (!is_array() || document_->nodes_[node_].size != exactly) {
    return unexpected("an array of " + std::to_string(exactly));
  }
  return JsonArray(*this);
}

Result<JsonObject> JsonValue::object() const {
  if (!is_object()) return unexpected("an object");
  return JsonObject(*this);
}

JsonArray::Iterator& JsonArray::Iterator::operator++() {
  value_.node_ = value_.document_->after(value_.node_);
  return *this;
}

std::size_t JsonArray::size() const { return value_.document_->nodes_[value_.node_].size; }

JsonArray::Iterator JsonArray::begin() const { return {*value_.document_, value_.node_ + 1}; }

JsonArray::Iterator JsonArray::end() const {
  return {*value_.document_, value_.document_->after(value_.node_)};
}

JsonObject::JsonObject(JsonValue value) : value_(value) {
  const JsonDocument& document = *value_.document_;
  const std::size_t end = document.after(value_.node_);
  for (std::size_t key = value_.node_ + 1; key < end; key = document.after(key + 1)) {
    members_.push_back({key, false});
  }
}

std::string_view JsonObject::key(std::size_t index) const {
  return value_.document_->text_of(members_[index].key_node);
}

JsonValue JsonObject::member(std::size_t index) {
  members_[index].asked = true;
  return {*value_.document_, members_[index].key_node + 1};
}

std::optional<JsonValue> JsonObject::find(std::string_view wanted) {
  for (std::size_t step = 0; step < members_.size(); ++step) {
    // Keys mostly stand in the order in which they are asked for: then none is compared twice.
    const std::size_t index = (next_ + step) % members_.size();
    if (key(index) != wanted) continue;
    next_ = index + 1;
    return member(index);
  }
  missing_.emplace_back(wanted);
  return std::nullopt;
}

Result<JsonValue> JsonObject::at(std::string_view wanted) {
  const std::optional<JsonValue> found = find(wanted);
  if (!found) return value_.error("found no key " + excerpt(wanted) + ", expected one");
  return *found;
}

Result<std::int64_t> JsonObject::integer(std::string_view wanted, std::int64_t low,
                                         std::int64_t high) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue found, at(wanted));
  return found.integer(low, high);
}

Result<std::uint64_t> JsonObject::unsigned_integer(std::string_view wanted) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue found, at(wanted));
  return found.unsigned_integer();
}

Result<double> JsonObject::number(std::string_view wanted, double low, double high) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue found, at(wanted));
  return found.number(low, high);
}

Result<bool> JsonObject::boolean(std::string_view wanted) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue found, at(wanted));
  return found.boolean();
}

Result<std::string> JsonObject::text(std::string_view wanted) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue found, at(wanted));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view view, found.text());
  return std::string(view);
}

Result<std::string> JsonObject::shown_text(std::string_view wanted) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue found, at(wanted));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view view, found.text());
  if (printable(view) != view) return found.unexpected("text without control characters");
  return std::string(view);
}

Result<JsonArray> JsonObject::array(std::string_view wanted) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue found, at(wanted));
  return found.array();
}

Result<JsonObject> JsonObject::object(std::string_view wanted) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue found, at(wanted));
  return found.object();
}

Status JsonObject::format(std::string_view name, std::int64_t version) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue found, at("format"));
  if (!found.is_string() || *found.text() != name) return found.unexpected(excerpt(name));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue number, at("version"));
  const Result<std::int64_t> found_version = number.integer();
  if (found_version.ok() && *found_version == version) return {};
  return number.unexpected("version " + std::to_string(version));
}

Status JsonObject::finish() const {
  const auto unknown = std::find_if(members_.begin(), members_.end(),
                                    [](const Member& member) { return !member.asked; });
  if (unknown == members_.end()) return {};
  std::vector<std::string> known = missing_;
  for (std::size_t index = 0; index < members_.size(); ++index) {
    if (members_[index].asked) known.emplace_back(key(index));
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return JsonValue(*value_.document_, unknown->key_node + 1)
      .error("found an unknown key, expected one of " + list(known));
}

}  // namespace neuroshard::io
