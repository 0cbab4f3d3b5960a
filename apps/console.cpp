#include "apps/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

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

std::string_view escape(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\x1b[1m";
    case Style::kDim:
      return "\x1b[2m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kBad:
      return "\x1b[31m";
  }
  return "";
}

}  // namespace

Console Console::of(int descriptor) {
  Console console;
  console.terminal = isatty(descriptor) == 1;
  if (!console.terminal) return console;
  console.colour = environment("NO_COLOR").empty() && environment("TERM") != "dumb";
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
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // not a continuation byte
  }));
}

}  // namespace neuroshard::apps
