#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/status.h"
#include "io/json/json_writer.h"

// Strict JSON (RFC 8259) in. Syntax errors read "<source>:<line>:<column>: ..."; everything later
// reads "<source>: $.tables[3].rows: found X, expected Y". Refused: duplicate keys, more than 32
// levels, more than one value, text that is not UTF-8, NaN and Infinity, numbers outside the range
// of a double, and more than the nodes of a document can hold: 2^27 values, strings of 256 MiB, 4
// GiB of text. A byte order mark is skipped.
//
//   NEUROSHARD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(bytes, source));
//   NEUROSHARD_ASSIGN_OR_RETURN(JsonObject root, document.root().object());
//   NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t rows, root.integer("rows", 1));
//   NEUROSHARD_RETURN_IF_ERROR(root.finish());  // any key nobody asked for is an error

namespace neuroshard::io {

class JsonDocument;
class JsonObject;
class JsonArray;

inline constexpr int kMaxJsonDepth = 32;
/// Keys and values of a text; a million tables take some forty million.
inline constexpr std::size_t kMaxJsonValues = std::size_t{1} << 27;
inline constexpr std::int64_t kMinInteger = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kMaxInteger = std::numeric_limits<std::int64_t>::max();
inline constexpr double kMaxNumber = std::numeric_limits<double>::max();

/// One value of a document: a cheap copyable cursor, valid while the document lives.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

  JsonValue(const JsonDocument& document, std::size_t node) : document_(&document), node_(node) {}

  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool is_string() const { return kind() == Kind::kString; }
  [[nodiscard]] bool is_array() const { return kind() == Kind::kArray; }
  [[nodiscard]] bool is_object() const { return kind() == Kind::kObject; }

  /// A number written without fraction and exponent (1e3 and 1.0 are refused: a writer that emits
  /// them may have rounded) inside [low, high].
  [[nodiscard]] Result<std::int64_t> integer(std::int64_t low = kMinInteger,
                                             std::int64_t high = kMaxInteger) const;
  /// The same for the whole range of 64 bits without a sign (seeds).
  [[nodiscard]] Result<std::uint64_t> unsigned_integer() const;
  /// Any finite number inside [low, high], correctly rounded.
  [[nodiscard]] Result<double> number(double low = -kMaxNumber, double high = kMaxNumber) const;
  [[nodiscard]] Result<bool> boolean() const;
  /// A string, unescaped; the view lives as long as the document and its bytes.
  [[nodiscard]] Result<std::string_view> text() const;
  [[nodiscard]] Result<JsonArray> array() const;
  [[nodiscard]] Result<JsonArray> array(std::size_t exactly) const;
  [[nodiscard]] Result<JsonObject> object() const;

  /// "$.tables[3].rows", a long one without its middle. Cost: grows with the document; for messages
  /// only.
  [[nodiscard]] std::string path() const;
  /// kInvalidInput "<source>: <path>: <message>".
  [[nodiscard]] Status error(const std::string& message) const;
  /// kInvalidInput "<source>: <path>: found <this value>, expected <expected>".
  [[nodiscard]] Status unexpected(const std::string& expected) const;

 private:
  friend class JsonArray;
  friend class JsonObject;

  const JsonDocument* document_;
  std::size_t node_;
};

/// The elements of an array, in order.
class JsonArray {
 public:
  class Iterator {
   public:
    Iterator(const JsonDocument& document, std::size_t node) : value_(document, node) {}
    JsonValue operator*() const { return value_; }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return value_.node_ != other.value_.node_; }

   private:
    JsonValue value_;
  };

  explicit JsonArray(JsonValue value) : value_(value) {}
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] Iterator end() const;
  [[nodiscard]] const JsonValue& value() const { return value_; }

 private:
  JsonValue value_;
};

/// The members of an object. Remembers which keys were asked for, so that `finish` finds the ones
/// nobody knows. Missing keys are errors that name the key and the object's path.
class JsonObject {
 public:
  explicit JsonObject(JsonValue value);

  [[nodiscard]] std::optional<JsonValue> find(std::string_view key);
  [[nodiscard]] bool has(std::string_view key) { return find(key).has_value(); }
  [[nodiscard]] Result<JsonValue> at(std::string_view key);

  [[nodiscard]] Result<std::int64_t> integer(std::string_view key, std::int64_t low = kMinInteger,
                                             std::int64_t high = kMaxInteger);
  [[nodiscard]] Result<std::uint64_t> unsigned_integer(std::string_view key);
  [[nodiscard]] Result<double> number(std::string_view key, double low = -kMaxNumber,
                                      double high = kMaxNumber);
  [[nodiscard]] Result<bool> boolean(std::string_view key);
  [[nodiscard]] Result<std::string> text(std::string_view key);
  /// Text that people are shown as it is: one without characters that a terminal obeys.
  [[nodiscard]] Result<std::string> shown_text(std::string_view key);
  [[nodiscard]] Result<JsonArray> array(std::string_view key);
  [[nodiscard]] Result<JsonObject> object(std::string_view key);

  /// Checks `"format": name, "version": version`, the first two keys of every format of ours.
  Status format(std::string_view name, std::int64_t version);

  /// The first key that was never asked for, with the keys that were, as an error.
  [[nodiscard]] Status finish() const;

  /// Members by position, for objects whose keys are data; they count as asked for.
  [[nodiscard]] std::size_t size() const { return members_.size(); }
  [[nodiscard]] std::string_view key(std::size_t index) const;
  [[nodiscard]] JsonValue member(std::size_t index);

  [[nodiscard]] const JsonValue& value() const { return value_; }

 private:
  struct Member {
    std::size_t key_node;
    bool asked;
  };

  JsonValue value_;
  std::vector<Member> members_;
  std::vector<std::string> missing_;  ///< keys asked for that are not there, for `finish`
  std::size_t next_ = 0;              ///< where the search for the next key starts
};

/// A parsed text. Keeps views into `bytes`, which must outlive it; 8 bytes per value beside that.
class JsonDocument {
 public:
  /// `source` names the text in messages: a path, "<stdin>", ...
  static Result<JsonDocument> parse(std::string_view bytes, const std::string& source);
  JsonDocument(JsonDocument&&) = default;
  JsonDocument& operator=(JsonDocument&&) = default;

  [[nodiscard]] JsonValue root() const { return {*this, 0}; }
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  friend class JsonValue;
  friend class JsonArray;
  friend class JsonObject;
  class Builder;

  /// Values in document order; a member's key is a string node before its value. Small, as a value
  /// may be a single byte of the text.
  struct Node {
    std::uint32_t kind : 3;
    std::uint32_t unescaped : 1;  ///< a string that is not literally in the text
    std::uint32_t size : 28;  ///< bytes of a string or number, elements or members of a container
    /// Where in the text a string or number begins, or which of `unescaped_` it is; of a container
    /// the node after its last descendant.
    std::uint32_t place;
  };
  static constexpr std::size_t kMaxSize = (std::size_t{1} << 28) - 1;

  [[nodiscard]] std::string_view text_of(std::size_t node) const {
    const Node& own = nodes_[node];
    if (own.unescaped != 0) return unescaped_[own.place];
    return bytes_.substr(own.place, own.size);
  }
  [[nodiscard]] std::size_t after(std::size_t node) const;

  JsonDocument(std::string source, std::string_view bytes)
      : source_(std::move(source)), bytes_(bytes) {}

  std::string source_;
  std::string_view bytes_;
  std::deque<Node> nodes_;
  std::deque<std::string> unescaped_;  ///< strings that are not literally in the text
};

}  // namespace neuroshard::io
