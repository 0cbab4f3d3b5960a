#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/core/status.h"

namespace neuroshard::io {

/// `text` as part of a line: what is no UTF-8 and what a terminal obeys instead of showing it
/// (control characters, line separators, marks that turn the direction of writing) or does not show
/// (blanks of no width, a byte order mark among them) as \xNN, so that no input can break or fake a
/// line and names that differ look different.
std::string printable(std::string_view text);
/// The same in single quotes, cut to 40 bytes: how messages show what was found.
std::string excerpt(std::string_view text);

/// The same as a message, whose middle is left out where it is very long: a value that it repeats
/// may be of any length.
std::string message_line(std::string_view text);

/// Behind the first of what a message is about, which has `rest` others: "" or " and 2 more".
std::string and_more(std::size_t rest);

/// Whether `text` can name a module inside a trainer's model: names joined by dots, none of them
/// empty or with a blank or control character.
bool is_module_name(std::string_view text);

/// A character of a text: its code point and the bytes that it takes, 0 when they are no valid
/// UTF-8 (RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF).
struct Character {
  char32_t code;
  std::size_t bytes;
};
/// The first one. REQUIRES a text that is not empty.
Character first_character(std::string_view text);

/// Offset of the first byte that is not part of valid UTF-8, or std::string_view::npos.
std::size_t find_invalid_utf8(std::string_view text);

/// kInvalidInput "<source>:<line>:<column>: <message>" for a byte offset; columns count bytes.
Status error_at(std::string_view bytes, std::size_t offset, const std::string& source,
                const std::string& message);

/// `bytes` without the byte order mark that some programs begin UTF-8 with.
std::string_view without_mark(std::string_view bytes);

/// Refuses what no text format of the engine takes: text that is not UTF-8.
Status check_text(std::string_view bytes, const std::string& source);

/// The same of the first block of a text of which more may follow: also refuses a control character
/// that no text begins with.
Status check_start(std::string_view block, const std::string& source);

/// What a message says it expected: "an integer from 1 to 9", "an integer of at least 1, below
/// 2^63", "an integer".
std::string integer_range(std::int64_t low, std::int64_t high);
/// The same for numbers: "a number from 0 to 1", "a number of at least 0", "a number".
std::string number_range(double low, double high);

/// The shortest decimal text that reads back to the same double ("1", "0.1", "1e+30").
std::string format_number(double value);

}  // namespace neuroshard::io
