#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/core/status.h"

// Each <reader>_fuzz.cpp feeds arbitrary bytes to one reader. Beside crashes and what the
// sanitizers see, it is a finding when an error is not one clear line, or when a value does not
// survive being written and read again.

namespace neuroshard::fuzz {

inline void require(bool holds, const char* promise, const std::string& detail = "") {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s: %s\n", promise, detail.c_str());
  std::abort();
}

/// Whether `text` is UTF-8 that a terminal shows: no control characters, no line separators, no
/// marks that turn the direction of writing, no blanks of no width.
inline bool prints_as_one_line(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const int more = first < 0x80         ? 0
                     : first >> 5 == 0x06 ? 1
                     : first >> 4 == 0x0E ? 2
                     : first >> 3 == 0x1E ? 3
                                          : -1;
    if (more < 0 || i + static_cast<std::size_t>(more) >= text.size()) return false;
    std::uint32_t code = more == 0 ? first : first & (0x3FU >> more);
    for (int k = 0; k < more; ++k) {
      const auto next = static_cast<unsigned char>(text[++i]);
      if (next >> 6 != 2) return false;
      code = code << 6 | (next & 0x3FU);
    }
    ++i;
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    const bool separates = code >= 0x2028 && code <= 0x202E;
    const bool turns = code == 0x200E || code == 0x200F || (code >= 0x2066 && code <= 0x2069);
    const bool hidden = code == 0x200B || code == 0x2060 || code == 0xFEFF;
    if (control || separates || turns || hidden) return false;
  }
  return true;
}

/// An error of a reader is the input's fault, names the source, and prints as one short line.
inline void require_clear(const Status& status) {
  const std::string& message = status.message();
  require(status.code() == StatusCode::kInvalidInput, "bad input is kInvalidInput", message);
  require(message.starts_with("input"), "the message names the source", message);
  require(message.size() < 2000, "the message is short", message);
  require(prints_as_one_line(message), "the message is one printable line", message);
}

/// The value, or nullptr after checking the error.
template <typename T>
const T* accepted(const Result<T>& result) {
  if (result.ok()) return &result.value();
  require_clear(result.status());
  return nullptr;
}

/// The value of a text that a writer of ours made: it must be accepted.
template <typename T>
T reread(Result<T> result) {
  require(result.ok(), "what is written is read", result.status().message());
  return std::move(result).value();
}

}  // namespace neuroshard::fuzz
