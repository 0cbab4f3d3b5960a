#include "apps/console/text_table.h"

#include <algorithm>

namespace neuroshard::apps {

void TextTable::add(std::vector<std::string> cells, Style style) {
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), style});
}

std::string TextTable::line(const std::vector<std::string>& cells,
                            const std::vector<int>& widths) const {
  std::string text;
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    const std::string blank(static_cast<std::size_t>(widths[k] - display_width(cells[k])), ' ');
    if (k > 0) text += "  ";
    text += columns_[k].align == Align::kRight ? blank + cells[k] : cells[k] + blank;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string TextTable::render(const Console& console) const {
  std::vector<std::string> titles;
  std::vector<int> widths;
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    titles.push_back(columns_[k].title);
    widths.push_back(display_width(columns_[k].title));
    for (const Row& row : rows_) widths[k] = std::max(widths[k], display_width(row.cells[k]));
  }
  std::string text;
  const std::string header = line(titles, widths);
  if (!header.empty()) text += console.paint(header, Style::kDim) + "\n";
  for (const Row& row : rows_) text += console.paint(line(row.cells, widths), row.style) + "\n";
  return text;
}

}  // namespace neuroshard::apps
