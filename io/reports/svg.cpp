#include "io/reports/svg.h"

#include <algorithm>
#include <cmath>

#include "engine/core/decimal.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

// Geometry in user units of the view box, which the browser scales to the page.
constexpr int kBarsWidth = 960;
constexpr int kBarsLeft = 150;   // labels
constexpr int kBarsRight = 190;  // notes
constexpr int kRowHeight = 24;
constexpr int kBarHeight = 18;
constexpr int kBarsTop = 18;      // the mark's label
constexpr double kCharacter = 7;  // about one character of the captions

std::string text_at(double x, double y, std::string_view css_class, std::string_view text) {
  return "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" class=\"" +
         std::string(css_class) + "\">" + html_text(text) + "</text>";
}

}  // namespace

std::string svg_number(double value) { return fixed_decimals(value, 1); }

std::string html_text(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  while (!text.empty()) {
    const std::size_t bad = std::min(find_invalid_utf8(text), text.size());
    for (const char character : text.substr(0, bad)) {
      const auto byte = static_cast<unsigned char>(character);
      if (character == '<') {
        out += "&lt;";
      } else if (character == '>') {
        out += "&gt;";
      } else if (character == '&') {
        out += "&amp;";
      } else if (character == '"') {
        out += "&quot;";
      } else if (byte < 0x20 || byte == 0x7F) {
        out += kReplacement;
      } else {
        out += character;
      }
    }
    if (bad == text.size()) break;
    out += kReplacement;
    text.remove_prefix(bad + 1);
  }
  return out;
}

RowChart::RowChart(std::string_view title, double largest)
    : title_(title), largest_(std::isfinite(largest) && largest > 0 ? largest : 1) {}

double RowChart::scaled(double value) const {
  const double share = std::clamp(value / largest_, 0.0, 1.0);
  return share * (kBarsWidth - kBarsLeft - kBarsRight);
}

void RowChart::row(std::string_view label) {
  ++rows_;
  end_ = 0;
  const double y = kBarsTop + (rows_ - 1) * kRowHeight + kBarHeight - 5;
  body_ += "\n" + text_at(kBarsLeft - 8, y, "label", label);
}

void RowChart::bar(double value, std::string_view css_class, std::string_view hint,
                   std::string_view caption) {
  const double from = kBarsLeft + scaled(end_);
  end_ += std::max(0.0, value);
  const double width = kBarsLeft + scaled(end_) - from;
  const double y = kBarsTop + (rows_ - 1) * kRowHeight;
  body_ += "\n<g><title>" + html_text(hint) + "</title><rect x=\"" + svg_number(from) + "\" y=\"" +
           svg_number(y) + "\" width=\"" + svg_number(width) + "\" height=\"" +
           std::to_string(kBarHeight) + "\" class=\"" + std::string(css_class) + "\"/>";
  if (!caption.empty() && kCharacter * static_cast<double>(caption.size()) + 6 < width) {
    body_ += text_at(from + width / 2, y + kBarHeight - 5, "caption", caption);
  }
  body_ += "</g>";
}

void RowChart::note(std::string_view text) {
  const double y = kBarsTop + (rows_ - 1) * kRowHeight + kBarHeight - 5;
  body_ += text_at(kBarsLeft + scaled(end_) + 8, y, "note", text);
}

void RowChart::mark(double value, std::string_view label) {
  mark_ = value;
  mark_label_ = label;
}

std::string RowChart::render() const {
  const int height = kBarsTop + rows_ * kRowHeight;
  std::string svg = "<svg viewBox=\"0 0 " + std::to_string(kBarsWidth) + " " +
                    std::to_string(height) + "\" role=\"img\" aria-label=\"" + html_text(title_) +
                    "\">" + body_;
  if (mark_ >= 0) {
    const std::string x = svg_number(kBarsLeft + scaled(mark_));
    svg += "\n<line x1=\"" + x + "\" x2=\"" + x + "\" y1=\"" + std::to_string(kBarsTop - 3) +
           "\" y2=\"" + std::to_string(height) + "\" class=\"mark\"/>" +
           text_at(kBarsLeft + scaled(mark_), kBarsTop - 6, "mark-label", mark_label_);
  }
  return svg + "\n</svg>\n";
}

}  // namespace neuroshard::io
