#include "apps/console/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "io/text.h"

namespace neuroshard::apps {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {  // the first that is set decides
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    for (const char* charset : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
      if (value.find(charset) != std::string_view::npos) return true;
    }
    return false;
  }
  return false;
}

int terminal_width(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return std::clamp(static_cast<int>(size.ws_col), 40, 400);
}

struct Range {
  char32_t first;
  char32_t last;
};

/// Marks on the character before, joiners and selectors of emoji.
constexpr std::array<Range, 18> kNoColumn{{
    {0x300, 0x36f},
    {0x483, 0x489},
    {0x591, 0x5bd},
    {0x610, 0x61a},
    {0x64b, 0x65f},
    {0x93c, 0x93c},
    {0x941, 0x948},
    {0x94d, 0x94d},
    {0xe31, 0xe31},
    {0xe34, 0xe3a},
    {0xe47, 0xe4e},
    {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff},
    {0x200b, 0x200d},
    {0x2060, 0x2064},
    {0x20d0, 0x20ff},
    {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f},
}};
/// East Asian wide and fullwidth characters, emoji (Unicode Standard Annex 11).
constexpr std::array<Range, 12> kTwoColumns{{
    {0x1100, 0x115f},
    {0x2e80, 0x303e},
    {0x3041, 0xa4cf},
    {0xa960, 0xa97f},
    {0xac00, 0xd7a3},
    {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},
    {0xff00, 0xff60},
    {0xffe0, 0xffe6},
    {0x1f300, 0x1f6ff},
    {0x1f900, 0x1faff},
    {0x20000, 0x3fffd},
}};

template <std::size_t size>
bool in(const std::array<Range, size>& ranges, char32_t character) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
    return range.first <= character && character <= range.last;
  });
}

std::string_view escape(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\x1b[1m";
    case Style::kDim:
      return "\x1b[2m";
  }
  return "";
}

}  // namespace

Console Console::of(int descriptor) {
  Console console;
  if (isatty(descriptor) != 1) return console;
  console.redraws = environment("TERM") != "dumb";
  console.colour = console.redraws && environment("NO_COLOR").empty();
  console.unicode = utf8_locale();
  console.width = terminal_width(descriptor);
  return console;
}

std::string Console::paint(std::string_view text, Style style) const {
  if (!colour || style == Style::kPlain) return std::string(text);
  return std::string(escape(style)) + std::string(text) + "\x1b[0m";
}

std::string Console::bar(double share, int columns) const {
  constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double filled = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) * columns : 0;
  std::string text;
  if (!unicode) {
    text.assign(static_cast<std::size_t>(std::lround(filled)), '#');
  } else {
    const auto eighths = static_cast<int>(std::lround(filled * 8));
    for (int k = 0; k < eighths / 8; ++k) text += "█";
    text += kEighths[static_cast<std::size_t>(eighths % 8)];
  }
  const int blank = columns - display_width(text);
  return text + std::string(static_cast<std::size_t>(std::max(blank, 0)), ' ');
}

int display_width(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const io::Character next = io::first_character(text);
    text.remove_prefix(std::max<std::size_t>(next.bytes, 1));
    columns += in(kNoColumn, next.code) ? 0 : in(kTwoColumns, next.code) ? 2 : 1;
  }
  return columns;
}

}  // namespace neuroshard::apps
