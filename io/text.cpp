#include "io/text.h"

#include <algorithm>
#include <limits>

#include "io/json_writer.h"

namespace neuroshard::io {
namespace {

constexpr std::size_t kExcerptBytes = 40;

bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

/// Length of the UTF-8 sequence at the start of `text`, 0 when it is not valid.
std::size_t sequence_length(std::string_view text) {
  const auto at = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first < 0xE0   ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t index = 1; index < length; ++index) {
    if (!is_continuation(at(index))) return 0;
  }
  const unsigned char second = at(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second >= 0xA0;
  const bool too_large = first == 0xF4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char character : text.substr(0, kExcerptBytes)) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x20 && byte < 0x7F) {
      out += character;
    } else {
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

std::string excerpt(std::string_view text) {
  return "'" + printable(text) + (text.size() > kExcerptBytes ? "'..." : "'");
}

bool is_module_name(std::string_view text) {
  char last = '.';
  for (const char character : text) {
    const bool blank = static_cast<unsigned char>(character) <= ' ' || character == '\x7F';
    if (blank || (character == '.' && last == '.')) return false;
    last = character;
  }
  return last != '.';
}

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t offset = 0; offset < text.size();) {
    const std::size_t length = sequence_length(text.substr(offset, 4));
    if (length == 0) return offset;
    offset += length;
  }
  return std::string_view::npos;
}

Status error_at(std::string_view bytes, std::size_t offset, const std::string& source,
                const std::string& message) {
  const std::string_view before = bytes.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 == 0
  return invalid_input(source + ":" + std::to_string(line) + ":" +
                       std::to_string(before.size() - line_start + 1) + ": " + message);
}

Status check_text(std::string_view bytes, const std::string& source) {
  if (bytes.starts_with("\xEF\xBB\xBF")) {
    return error_at(bytes, 0, source, "found a byte order mark, expected UTF-8 without one");
  }
  const std::size_t invalid = find_invalid_utf8(bytes);
  if (invalid == std::string_view::npos) return {};
  return error_at(bytes, invalid, source,
                  "found byte " + excerpt(bytes.substr(invalid, 1)) + ", expected UTF-8 text");
}

std::string integer_range(std::int64_t low, std::int64_t high) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::string from = std::to_string(low);
  if (high != Limits::max()) return "an integer from " + from + " to " + std::to_string(high);
  return low == Limits::min() ? "an integer" : "an integer of at least " + from;
}

std::string number_range(double low, double high) {
  using Limits = std::numeric_limits<double>;
  if (high != Limits::max()) {
    return "a number from " + format_number(low) + " to " + format_number(high);
  }
  return low == Limits::lowest() ? "a number" : "a number of at least " + format_number(low);
}

}  // namespace neuroshard::io
