#pragma once

#include <string>
#include <string_view>

namespace neuroshard::io {

/// `text` inside HTML or SVG: markup characters as entities, control characters and bytes that are
/// not UTF-8 as U+FFFD. Safe in attributes in double quotes too.
std::string html_text(std::string_view text);

/// A coordinate as SVG has it, to a tenth of a unit.
std::string svg_number(double value);

/// A chart of one labelled row of rectangles after another, as inline SVG without scripts. Widths
/// are in the units of the data; colours come from CSS classes of the page. Not thread-safe.
class RowChart {
 public:
  /// `largest` (above 0): the value as wide as the chart. `title` is what screen readers say.
  RowChart(std::string_view title, double largest);

  /// Begins a row: `label` on its left.
  void row(std::string_view label);
  /// A rectangle behind what the row has so far, `value` wide (negative counts as 0), with `hint`
  /// shown when pointed at; `caption` stands in it where there is room.
  void bar(double value, std::string_view css_class, std::string_view hint,
           std::string_view caption = "");
  /// Text behind the last rectangle of the row.
  void note(std::string_view text);
  /// A vertical line through all rows at `value`.
  void mark(double value, std::string_view label);

  /// The <svg> element.
  [[nodiscard]] std::string render() const;

 private:
  [[nodiscard]] double scaled(double value) const;

  std::string title_;
  double largest_;
  int rows_ = 0;
  double end_ = 0;  ///< of the row's last rectangle, in units of the data
  std::string body_;
  double mark_ = -1;
  std::string mark_label_;
};

}  // namespace neuroshard::io
