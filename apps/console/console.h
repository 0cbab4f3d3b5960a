#pragma once

#include <string>
#include <string_view>

namespace neuroshard::apps {

enum class Style { kPlain, kBold, kDim };

/// What a stream can show. On a pipe: no colours, no UTF-8 drawing. A value; thread-safe.
struct Console {
  bool redraws = false;  ///< a terminal that draws a line over the one before: TERM is not "dumb"
  bool colour = false;   ///< the same, and NO_COLOR is not set (or empty)
  bool unicode = false;  ///< a terminal in a UTF-8 locale (LC_ALL, LC_CTYPE, LANG)
  int width = 80;        ///< columns

  static Console of(int descriptor);

  /// `text` in the escape codes of `style`, or as it is without colours.
  [[nodiscard]] std::string paint(std::string_view text, Style style) const;
  /// A bar of `width` columns, `share` of it (0..1, clamped) filled; blank beyond. Eighths of a
  /// column in UTF-8, '#' otherwise.
  [[nodiscard]] std::string bar(double share, int width) const;
};

/// Columns a UTF-8 text takes on a terminal: two for a wide character of East Asia or an emoji,
/// none for a combining mark (of common scripts), else one a code point.
int display_width(std::string_view text);

}  // namespace neuroshard::apps
