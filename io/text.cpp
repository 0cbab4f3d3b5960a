#include "io/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace neuroshard::io {
namespace {

constexpr std::size_t kExcerptBytes = 40;

bool is_blank(char character) {
  return character == '\t' || character == '\n' || character == '\r' || character == ' ';
}

bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

/// Whether a terminal shows the character and does nothing else.
bool is_shown(char32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool separates_or_turns = code == 0x200E || code == 0x200F ||
                                  (code >= 0x2028 && code <= 0x202E) ||
                                  (code >= 0x2066 && code <= 0x2069);
  // Blanks of no width; joiners (0x200C, 0x200D) stay, as letters change their form with them.
  const bool has_no_width = code == 0x200B || code == 0x2060 || code == 0xFEFF;
  return !control && !separates_or_turns && !has_no_width;
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

Character first_character(std::string_view text) {
  constexpr Character kInvalid{0, 0};
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first < 0xC0 || first >= 0xF8 ? 0
                            : first < 0xE0                ? 2
                            : first < 0xF0                ? 3
                                                          : 4;
  if (bytes == 0 || text.size() < bytes) return kInvalid;
  char32_t code = first & (0x7FU >> bytes);
  for (std::size_t index = 1; index < bytes; ++index) {
    const auto byte = static_cast<unsigned char>(text[index]);
    if (!is_continuation(byte)) return kInvalid;
    code = code << 6 | (byte & 0x3FU);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // by bytes
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  if (code < kLeast[bytes] || surrogate || code > 0x10FFFF) return kInvalid;
  return {code, bytes};
}

std::string printable(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(character.bytes, 1));
    text.remove_prefix(sequence.size());
    if (character.bytes != 0 && is_shown(character.code)) {
      out += sequence;
      continue;
    }
    for (const char unit : sequence) {
      const auto byte = static_cast<unsigned char>(unit);
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

std::string excerpt(std::string_view text) {
  return "'" + printable(cut(text, kExcerptBytes)) + (text.size() > kExcerptBytes ? "'..." : "'");
}

std::string and_more(std::size_t rest) {
  return rest == 0 ? "" : " and " + std::to_string(rest) + " more";
}

std::string message_line(std::string_view text) {
  constexpr std::size_t kHalfBytes = 500;
  if (text.size() <= 2 * kHalfBytes) return printable(text);
  std::string_view end = text.substr(text.size() - kHalfBytes);
  while (!end.empty() && is_continuation(static_cast<unsigned char>(end.front()))) {
    end.remove_prefix(1);
  }
  return printable(cut(text, kHalfBytes)) + "[...]" + printable(end);
}

bool is_module_name(std::string_view text) {
  if (find_invalid_utf8(text) != std::string_view::npos) return false;
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
    const std::size_t bytes = first_character(text.substr(offset)).bytes;
    if (bytes == 0) return offset;
    offset += bytes;
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

std::string_view without_mark(std::string_view bytes) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (bytes.starts_with(kMark)) bytes.remove_prefix(kMark.size());
  return bytes;
}

Status check_text(std::string_view bytes, const std::string& source) {
  if (bytes.starts_with("\x1F\x8B")) {
    return error_at(bytes, 0, source, "found data compressed by gzip, expected UTF-8 text");
  }
  const std::size_t invalid = find_invalid_utf8(bytes);
  if (invalid == std::string_view::npos) return {};
  return error_at(bytes, invalid, source,
                  "found byte " + excerpt(bytes.substr(invalid, 1)) + ", expected UTF-8 text");
}

Status check_start(std::string_view block, const std::string& source) {
  // Its last character may go on in the next block, where this is the beginning of one.
  constexpr unsigned char kLeastLead = 0xC2;
  const std::size_t invalid = find_invalid_utf8(block);
  const bool cut_off = invalid != std::string_view::npos && block.size() - invalid < 4 &&
                       static_cast<unsigned char>(block[invalid]) >= kLeastLead;
  if (!cut_off) NEUROSHARD_RETURN_IF_ERROR(check_text(block, source));
  const char first = block.empty() ? ' ' : block.front();
  if (static_cast<unsigned char>(first) >= ' ' || is_blank(first)) return {};
  return error_at(block, 0, source, "found byte " + excerpt({&first, 1}) + ", expected text");
}

std::string integer_range(std::int64_t low, std::int64_t high) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::string from = std::to_string(low);
  if (high != Limits::max()) return "an integer from " + from + " to " + std::to_string(high);
  return low == Limits::min() ? "an integer" : "an integer of at least " + from + ", below 2^63";
}

std::string number_range(double low, double high) {
  using Limits = std::numeric_limits<double>;
  if (high != Limits::max()) {
    return "a number from " + format_number(low) + " to " + format_number(high);
  }
  return low == Limits::lowest() ? "a number" : "a number of at least " + format_number(low);
}

std::string format_number(double value) {
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end};
}

}  // namespace neuroshard::io
