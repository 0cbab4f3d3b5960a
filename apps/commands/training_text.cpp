#include "apps/commands/training_text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "apps/console/text_table.h"
#include "engine/training/report.h"

namespace neuroshard::apps {
namespace {

constexpr std::size_t kCurveRows = 10;
constexpr int kLabelColumns = 16;  // beside the sparkline
constexpr std::array kHeights{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/// Validation loss over the epochs, on a logarithmic scale.
std::string sparkline(const TrainReport& report, int columns) {
  std::vector<double> values;
  const std::size_t count = report.curve.size();
  const std::size_t width = std::min(count, static_cast<std::size_t>(std::clamp(columns, 10, 72)));
  for (std::size_t k = 0; k < width; ++k) {
    values.push_back(std::log(std::max(report.curve[k * count / width].validation_loss, 1e-300)));
  }
  if (values.empty()) return "";
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double span = std::max(*high - *low, 1e-12);
  const double steps = kHeights.size() - 1;
  std::string line;
  for (const double value : values) {
    line += kHeights[static_cast<std::size_t>(std::lround(steps * (value - *low) / span))];
  }
  return line;
}

}  // namespace

std::string training_text(const Console& console, const TrainReports& reports) {
  std::string text;
  for (const auto& [name, report] : reports) {
    text += "\n" + console.paint(name, Style::kBold) + "\n";
    if (console.unicode)
      text += "validation loss " + sparkline(*report, console.width - kLabelColumns) + "\n";
    TextTable curve({{"epoch"}, {"training loss"}, {"validation loss"}, {"validation MSE"}});
    for (std::vector<std::string>& row : curve_rows(*report, kCurveRows)) {
      curve.add(std::move(row));
    }
    TextTable facts({{"", Align::kLeft}, {"", Align::kRight}});
    for (const auto& [fact, value] : report_rows(*report)) facts.add({fact, value});
    text += curve.render(console) + "\n" + facts.render(console);
  }
  return text + "\n";
}

}  // namespace neuroshard::apps
