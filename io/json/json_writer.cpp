#include "io/json/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "io/text.h"

namespace neuroshard::io {
namespace {

void append_escaped(std::string& out, char character) {
  constexpr char kDigits[] = "0123456789abcdef";
  switch (character) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(character);
  if (byte < 0x20 || byte == 0x7F) {
    out += {'\\', 'u', '0', '0', kDigits[byte >> 4], kDigits[byte & 15]};
  } else {
    out += character;
  }
}

void append_string(std::string& out, std::string_view value) {
  out += '"';
  while (true) {
    const std::size_t bad = find_invalid_utf8(value);
    for (const char character : value.substr(0, bad)) append_escaped(out, character);
    if (bad == std::string_view::npos) break;
    out += "\xEF\xBF\xBD";  // U+FFFD
    value.remove_prefix(bad + 1);
  }
  out += '"';
}

}  // namespace

void JsonWriter::separate() {
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) out_ += ',';
  if (!level.line) {
    out_ += '\n';
    out_.append(2 * levels_.size(), ' ');
  } else if (!level.empty) {
    out_ += ' ';
  }
  level.empty = false;
}

void JsonWriter::before_value() {
  if (!std::exchange(after_key_, false)) separate();
}

void JsonWriter::open(char bracket, Layout layout) {
  before_value();
  const bool inside_line = !levels_.empty() && levels_.back().line;
  levels_.push_back({inside_line || layout == Layout::kLine, true});
  out_ += bracket;
}

void JsonWriter::close(char bracket) {
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.line && !level.empty) {
    out_ += '\n';
    out_.append(2 * levels_.size(), ' ');
  }
  out_ += bracket;
}

JsonWriter& JsonWriter::raw(std::string_view value) {
  before_value();
  out_ += value;
  return *this;
}

JsonWriter& JsonWriter::begin_object(Layout layout) {
  open('{', layout);
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  close('}');
  return *this;
}

JsonWriter& JsonWriter::begin_array(Layout layout) {
  open('[', layout);
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  close(']');
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_string(out_, name);
  out_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  before_value();
  append_string(out_, value);
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t value) { return raw(std::to_string(value)); }

JsonWriter& JsonWriter::unsigned_integer(std::uint64_t value) { return raw(std::to_string(value)); }

JsonWriter& JsonWriter::number(double value) {
  return std::isfinite(value) ? raw(format_number(value)) : null();
}

JsonWriter& JsonWriter::boolean(bool value) { return raw(value ? "true" : "false"); }

JsonWriter& JsonWriter::null() { return raw("null"); }

std::string JsonWriter::take() {
  out_ += '\n';
  levels_.clear();
  after_key_ = false;
  return std::exchange(out_, {});
}

}  // namespace neuroshard::io
