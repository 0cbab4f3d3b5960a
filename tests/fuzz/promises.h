#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

// What every fuzz target holds the engine to. Knows nothing of its classes, whose names those of
// the C++ interface are, too.

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

}  // namespace neuroshard::fuzz
