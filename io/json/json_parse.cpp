#include <algorithm>
#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "io/json/json.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

constexpr std::size_t kFiniteDigits = std::numeric_limits<double>::max_exponent10;

/// The keys of one open object. Real objects have a handful of keys, so a scan is fastest; a set
/// takes over before a hostile object could make that quadratic.
class KeySet {
 public:
  void clear() {
    few_.clear();
    many_.clear();
  }
  /// False when `key` is there already.
  bool insert(std::string_view key) {
    if (many_.empty() && few_.size() < kFew) {
      if (std::find(few_.begin(), few_.end(), key) != few_.end()) return false;
      few_.push_back(key);
      return true;
    }
    if (many_.empty()) many_.insert(few_.begin(), few_.end());
    return many_.insert(key).second;
  }

 private:
  static constexpr std::size_t kFew = 32;
  std::vector<std::string_view> few_;
  std::set<std::string_view> many_;
};

/// Whether a double can hold the number of a text that is a JSON number. Without an exponent it
/// takes more than kFiniteDigits to be too large, so that most are not converted here.
bool is_finite_number(std::string_view text) {
  const auto is_exponent = [](char c) { return c == 'e' || c == 'E'; };
  if (text.size() <= kFiniteDigits && std::none_of(text.begin(), text.end(), is_exponent)) {
    return true;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc();
}

}  // namespace

/// Receives Boost.JSON's parse events and lays the values out in document order. Number texts are
/// kept as written: Boost 1.81 does not round doubles correctly.
class JsonDocument::Builder {
 public:
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);
  using Error = boost::json::error_code;
  using View = boost::json::string_view;

  Builder(JsonDocument& document, std::string_view bytes) : document_(document), bytes_(bytes) {}

  /// Why an event was refused (empty: none was), and its byte offset where that is known.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  [[nodiscard]] std::optional<std::size_t> refusal_offset() const { return refusal_offset_; }

  bool on_document_begin(Error&) { return true; }
  bool on_document_end(Error&) { return true; }
  bool on_object_begin(Error& error) { return open(JsonValue::Kind::kObject, error); }
  bool on_object_end(std::size_t, Error&) { return close(); }
  bool on_array_begin(Error& error) { return open(JsonValue::Kind::kArray, error); }
  bool on_array_end(std::size_t, Error&) { return close(); }
  bool on_key_part(View part, std::size_t, Error&) { return add_part(part); }
  bool on_key(View part, std::size_t, Error& error) {
    const std::string_view key = whole_string(part);
    if (!levels_[depth_ - 1].keys.insert(key)) return refuse_duplicate(key, error);
    return push(JsonValue::Kind::kString, key, error);
  }
  bool on_string_part(View part, std::size_t, Error&) { return add_part(part); }
  bool on_string(View part, std::size_t, Error& error) {
    return add(JsonValue::Kind::kString, whole_string(part), error);
  }
  bool on_number_part(View part, Error&) {
    if (number_.empty()) number_ = {part.data(), 0};
    number_ = {number_.data(), number_.size() + part.size()};
    return true;
  }
  bool on_int64(std::int64_t, View part, Error& error) { return on_double(0, part, error); }
  bool on_uint64(std::uint64_t, View part, Error& error) { return on_double(0, part, error); }
  bool on_double(double, View part, Error& error) {
    on_number_part(part, error);
    const std::string_view text = std::exchange(number_, {});
    if (is_finite_number(text)) return add(JsonValue::Kind::kNumber, text, error);
    const auto offset = static_cast<std::size_t>(text.data() - bytes_.data());
    return refuse("found " + excerpt(text) + ", expected a number a double can hold", offset,
                  error);
  }
  bool on_bool(bool value, Error& error) {
    return add(value ? JsonValue::Kind::kTrue : JsonValue::Kind::kFalse, {}, error);
  }
  bool on_null(Error& error) { return add(JsonValue::Kind::kNull, {}, error); }
  bool on_comment_part(View, Error&) { return true; }
  bool on_comment(View, Error&) { return true; }

 private:
  struct Level {
    std::size_t node = 0;
    KeySet keys;
  };

  /// `text` lies in the text or is the last of the unescaped ones.
  bool push(JsonValue::Kind kind, std::string_view text, Error& error) {
    if (document_.nodes_.size() >= kMaxJsonValues) {
      return refuse("found more than " + std::to_string(kMaxJsonValues) +
                        " keys and values, expected at most that many",
                    {}, error);
    }
    if (text.size() > JsonDocument::kMaxSize) {
      return refuse("found a string or number of " + std::to_string(text.size()) +
                        " bytes, expected less than 256 MiB",
                    {}, error);
    }
    const bool unescaped = !text.empty() && !in_text(text);
    JsonDocument::Node& node = document_.nodes_.emplace_back();
    node.kind = static_cast<std::uint32_t>(kind) & 7U;
    node.unescaped = unescaped ? 1 : 0;
    node.size = static_cast<std::uint32_t>(text.size()) & JsonDocument::kMaxSize;
    if (unescaped) node.place = static_cast<std::uint32_t>(document_.unescaped_.size() - 1);
    if (!unescaped && !text.empty()) {
      node.place = static_cast<std::uint32_t>(text.data() - bytes_.data());
    }
    return true;
  }
  bool add(JsonValue::Kind kind, std::string_view text, Error& error) {
    if (!push(kind, text, error)) return false;
    if (depth_ > 0) ++document_.nodes_[levels_[depth_ - 1].node].size;
    return true;
  }
  bool open(JsonValue::Kind kind, Error& error) {
    if (!add(kind, {}, error)) return false;
    Level& level = levels_[depth_++];
    level.node = document_.nodes_.size() - 1;
    level.keys.clear();
    return true;
  }
  bool close() {
    end(levels_[--depth_]);
    return true;
  }

  /// What comes next is behind it.
  void end(const Level& level) {
    document_.nodes_[level.node].place = static_cast<std::uint32_t>(document_.nodes_.size());
  }

  [[nodiscard]] bool in_text(std::string_view part) const {
    return !part.empty() && part.data() >= bytes_.data() &&
           part.data() + part.size() <= bytes_.data() + bytes_.size();
  }
  bool add_part(View part) {
    string_.append(part.data(), part.size());
    return true;
  }
  /// The string that ends with `part`: a view into the text where it stands there literally.
  std::string_view whole_string(View last) {
    const std::string_view part(last.data(), last.size());
    if (string_.empty() && (part.empty() || in_text(part))) return part;
    string_ += part;
    document_.unescaped_.push_back(std::exchange(string_, {}));
    return document_.unescaped_.back();
  }

  bool refuse(std::string message, std::optional<std::size_t> offset, Error& error) {
    refusal_ = std::move(message);
    refusal_offset_ = offset;
    error = boost::json::error::exception;  // any error: it ends the parse
    return false;
  }
  bool refuse_duplicate(std::string_view key, Error& error) {
    for (std::size_t level = 0; level < depth_; ++level) {
      end(levels_[level]);
    }
    const std::string path = JsonValue(document_, levels_[depth_ - 1].node).path();
    std::optional<std::size_t> offset;  // an escaped key has lost its place in the text
    if (in_text(key)) offset = static_cast<std::size_t>(key.data() - bytes_.data()) - 1;
    return refuse("found the key " + excerpt(key) + " twice in " + path + ", expected it once",
                  offset, error);
  }

  JsonDocument& document_;
  std::string_view bytes_;
  std::array<Level, kMaxJsonDepth> levels_;
  std::size_t depth_ = 0;
  std::string string_;
  std::string_view number_;
  std::string refusal_;
  std::optional<std::size_t> refusal_offset_;
};

namespace {

/// What is wrong with the text at `offset`, where Boost.JSON stopped with `error`.
std::string explain(const boost::json::error_code& error, std::string_view bytes,
                    std::size_t offset) {
  using Json = boost::json::error;
  const std::string_view rest = bytes.substr(std::min(offset, bytes.size()));
  if (error == Json::too_deep) {
    return "found more than " + std::to_string(kMaxJsonDepth) + " levels of nesting";
  }
  if (error == Json::exponent_overflow) {
    return "found a number with a huge exponent, expected one a double can hold";
  }
  if (error == Json::incomplete || rest.empty()) {
    const bool blank = bytes.find_first_not_of(" \t\r\n") == std::string_view::npos;
    return blank ? "found an empty text, expected a JSON value"
                 : "found the end of the text, expected the rest of the JSON value";
  }
  const std::string found = "found " + excerpt(rest.substr(0, rest.find_first_of("\r\n,]}", 1)));
  if (error == Json::extra_data) return found + " after the JSON value, expected nothing";
  if (error == Json::syntax) {
    const bool number = rest.starts_with("NaN") || rest.starts_with("Inf");
    return found + (number ? ", expected a finite number" : ", which is not valid JSON here");
  }
  return found + ", which is not a valid escape sequence";
}

}  // namespace

Result<JsonDocument> JsonDocument::parse(std::string_view bytes, const std::string& source) {
  bytes = without_mark(bytes);
  NEUROSHARD_RETURN_IF_ERROR(check_text(bytes, source));
  if (bytes.size() > std::numeric_limits<std::uint32_t>::max()) {
    return invalid_input(source + ": found " + std::to_string(bytes.size()) +
                         " bytes, expected less than 4 GiB");
  }
  JsonDocument document(source, bytes);
  boost::json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  boost::json::basic_parser<Builder> parser(options, document, bytes);
  boost::json::error_code error;
  const std::size_t consumed = parser.write_some(false, bytes.data(), bytes.size(), error);
  const Builder& builder = parser.handler();
  if (!builder.refusal().empty()) {
    return error_at(bytes, builder.refusal_offset().value_or(consumed), source, builder.refusal());
  }
  if (!error && consumed < bytes.size()) error = boost::json::error::extra_data;
  if (error) return error_at(bytes, consumed, source, explain(error, bytes, consumed));
  return document;
}

}  // namespace neuroshard::io
