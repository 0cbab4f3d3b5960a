#pragma once

#include <string>
#include <vector>

#include "apps/console/console.h"

namespace neuroshard::apps {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kRight;
};

/// Rows of aligned columns, two blanks between them, for people. Without a header line when no
/// column has a title. Not thread-safe.
class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell per column; missing cells are blank. `style` paints the whole row.
  void add(std::vector<std::string> cells, Style style = Style::kPlain);
  [[nodiscard]] std::string render(const Console& console) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Style style;
  };

  [[nodiscard]] std::string line(const std::vector<std::string>& cells,
                                 const std::vector<int>& widths) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace neuroshard::apps
