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

/// Whether a terminal shows this valid UTF-8 sequence and does nothing else.
bool is_shown(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first >= 0x20 && first != 0x7F;
  if (first == 0xC2 && static_cast<unsigned char>(sequence[1]) < 0xA0) return false;  // C1 controls
  constexpr std::string_view kNext{"\xE2\x80"};      // U+200E, U+200F, U+2028 to U+202E
  constexpr std::string_view kIsolates{"\xE2\x81"};  // U+2066 to U+2069
  const auto last = static_cast<unsigned char>(sequence.back());
  if (sequence.starts_with(kNext))
    return last != 0x8E && last != 0x8F && (last < 0xA8 || last > 0xAE);
  return !sequence.starts_with(kIsolates) || last < 0xA6 || last > 0xA9;
}

/// As much of `text` as `bytes` hold without cutting a character.
std::string_view cut(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  std::size_t end = bytes;
  while (end > 0 && bytes - end < 4 && is_continuation(static_cast<unsigned char>(text[end])))
    --end;
  return text.substr(0, end);
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const std::size_t valid = sequence_length(text.substr(0, 4));
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(valid, 1));
    text.remove_prefix(sequence.size());
    if (valid != 0 && is_shown(sequence)) {
      out += sequence;
      continue;
    }
    for (const char character : sequence) {
      const auto byte = static_cast<unsigned char>(character);
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

std::string excerpt(std::string_view text) {
  return "'" + printable(cut(text, kExcerptBytes)) + (text.size() > kExcerptBytes ? "'..." : "'");
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
  if (bytes.starts_with("\x1F\x8B")) {
    return error_at(bytes, 0, source, "found data compressed by gzip, expected UTF-8 text");
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
