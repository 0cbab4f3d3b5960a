#include <algorithm>
#include <array>
#include <set>

#include "engine/core/quoted_choices.h"
#include "io/lines.h"
#include "io/tables/table_forms.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

enum Column { kName, kRows, kDim, kPooling, kType, kOptimizer, kAlpha, kColumns };
constexpr std::array<std::string_view, kColumns> kHeadings{
    "name", "rows", "dim", "pooling_factor", "data_type", "optimizer", "zipf_alpha"};
constexpr int kRequired = 4;

/// The records of a file as in RFC 4180, called by their first lines: a line that ends inside
/// quotes, of which it has an odd number, goes on with the next. Empty lines at the end are left
/// out.
Result<std::vector<Line>> read_records(std::string_view bytes, const std::string& source) {
  bytes = bytes.substr(0, bytes.find_last_not_of("\r\n") + 1);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<Line> lines,
                              split_lines(bytes, source, LastLine::kMayLackBreak));
  std::vector<Line> records;
  bool quoted = false;
  for (const Line& line : lines) {
    if (quoted) {
      std::string_view& text = records.back().text;
      const char* const end = line.text.data() + line.text.size();
      text = {text.data(), static_cast<std::size_t>(end - text.data())};
    } else {
      records.push_back(line);
    }
    if (std::count(line.text.begin(), line.text.end(), '"') % 2 != 0) quoted = !quoted;
  }
  return records;
}

/// The fields of a record; quotes as in RFC 4180.
Result<std::vector<std::string>> split_csv(const Line& line) {
  std::vector<std::string> fields(1);
  const std::string_view rest = line.text;
  bool quoted = false;
  bool closed = false;
  for (std::size_t at = 0; at < rest.size(); ++at) {
    const char character = rest[at];
    if (quoted) {
      if (character != '"') {
        fields.back() += character;
      } else if (at + 1 < rest.size() && rest[at + 1] == '"') {
        fields.back() += rest[++at];
      } else {
        quoted = false;
        closed = true;
      }
    } else if (character == ',') {
      fields.emplace_back();
      closed = false;
    } else if (character == '"' && fields.back().empty() && !closed) {
      quoted = true;
    } else if (character == '"' || closed) {
      return line.error("found " + excerpt(rest.substr(at)) + ", expected a comma after a quote");
    } else {
      fields.back() += character;
    }
  }
  if (quoted) return line.error("found a quote that does not end, expected another one");
  return fields;
}

/// Which field of a line is which column; -1 = absent.
Result<std::array<int, kColumns>> read_heading(const Line& line) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<std::string> fields, split_csv(line));
  if (fields.size() == 1 && fields[0].find_first_of(";\t") != std::string::npos) {
    return line.error("found the heading " + excerpt(fields[0]) +
                      ", expected commas between the columns");
  }
  std::array<int, kColumns> places;
  places.fill(-1);
  for (std::size_t field = 0; field < fields.size(); ++field) {
    int column = 0;
    while (column < kColumns && kHeadings[static_cast<std::size_t>(column)] != fields[field]) {
      ++column;
    }
    if (column == kColumns || places[static_cast<std::size_t>(column)] >= 0) {
      return line.error("found the column " + excerpt(fields[field]) +
                        ", expected each of name, rows, dim, pooling_factor and perhaps data_type, "
                        "optimizer, zipf_alpha once");
    }
    places[static_cast<std::size_t>(column)] = static_cast<int>(field);
  }
  for (std::size_t column = 0; column < kRequired; ++column) {
    if (places[column] >= 0) continue;
    return line.error("found no column '" + std::string(kHeadings[column]) + "', expected one");
  }
  return places;
}

/// One line's cells by column; absent and empty cells are "".
class Cells {
 public:
  Cells(const Line& line, std::array<std::string, kColumns> cells)
      : line_(line), cells_(std::move(cells)) {}

  [[nodiscard]] const std::string& text(Column column) const { return cells_[column]; }

  [[nodiscard]] Result<std::int64_t> integer(Column column, std::int64_t high) const {
    NEUROSHARD_ASSIGN_OR_RETURN(const auto values,
                                parse_integers(line_, text(column), kHeadings[column], 1, high));
    if (values.size() != 1) return line_.error(found(column) + ", expected one integer");
    return values[0];
  }
  [[nodiscard]] Result<double> number(Column column, double high) const {
    NEUROSHARD_ASSIGN_OR_RETURN(const auto values,
                                parse_numbers(line_, text(column), kHeadings[column], 0, high));
    if (values.size() != 1) return line_.error(found(column) + ", expected one number");
    return values[0];
  }
  template <typename T>
  Status word(Column column, Result<T> (*parse)(std::string_view), T& out) const {
    if (text(column).empty()) return {};
    Result<T> parsed = parse(text(column));
    if (!parsed.ok()) {
      return line_.error(found(column) + ", expected " +
                         (column == kType ? quoted_choices(all_data_types()) : optimizer_words()));
    }
    out = *parsed;
    return {};
  }

 private:
  [[nodiscard]] std::string found(Column column) const {
    return std::string(kHeadings[column]) + ": found " + excerpt(text(column));
  }

  const Line& line_;
  std::array<std::string, kColumns> cells_;
};

Result<Cells> read_cells(const Line& line, const std::array<int, kColumns>& places) {
  NEUROSHARD_ASSIGN_OR_RETURN(std::vector<std::string> fields, split_csv(line));
  const auto expected = static_cast<std::size_t>(
      std::count_if(places.begin(), places.end(), [](int place) { return place >= 0; }));
  if (fields.size() != expected) {
    return line.error("found " + std::to_string(fields.size()) + " fields, expected " +
                      std::to_string(expected) + " as in the heading");
  }
  std::array<std::string, kColumns> cells;
  for (std::size_t column = 0; column < kColumns; ++column) {
    if (places[column] >= 0) {
      cells[column] = std::move(fields[static_cast<std::size_t>(places[column])]);
    }
  }
  return Cells(line, std::move(cells));
}

Result<Table> read_line(const Cells& cells, std::int64_t batch_size, DerivedReuse& derived) {
  Table table;
  table.name = cells.text(kName);
  NEUROSHARD_ASSIGN_OR_RETURN(table.rows, cells.integer(kRows, kMaxInteger));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t dim, cells.integer(kDim, kMaxDim));
  table.dim = static_cast<std::int32_t>(dim);
  NEUROSHARD_ASSIGN_OR_RETURN(table.pooling_factor, cells.number(kPooling, kMaxPoolingFactor));
  NEUROSHARD_RETURN_IF_ERROR(cells.word(kType, parse_data_type, table.data_type));
  NEUROSHARD_RETURN_IF_ERROR(cells.word(kOptimizer, parse_optimizer, table.optimizer));
  double alpha = 0;
  if (!cells.text(kAlpha).empty()) {
    NEUROSHARD_ASSIGN_OR_RETURN(alpha, cells.number(kAlpha, kMaxZipfAlpha));
  }
  const double lookups = static_cast<double>(batch_size) * table.pooling_factor;
  table.reuse_histogram = derived.of(table.rows, lookups, {{}, 1, alpha});
  return table;
}

}  // namespace

Status read_csv_tables(std::string_view bytes, const std::string& source,
                       std::optional<std::int64_t> batch_size, TableFile& file) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<Line> lines, read_records(bytes, source));
  NEUROSHARD_ASSIGN_OR_RETURN(const auto places, read_heading(lines[0]));
  if (lines.size() == 1) return lines[0].error("found no tables, expected at least one");
  file.batch_size = batch_size;
  std::set<std::string> names;
  for (std::size_t index = 1; index < lines.size(); ++index) {
    const Line& line = lines[index];
    NEUROSHARD_ASSIGN_OR_RETURN(const Cells cells, read_cells(line, places));
    NEUROSHARD_ASSIGN_OR_RETURN(
        Table table, read_line(cells, batch_size.value_or(kDefaultBatchSize), file.derived));
    if (const Status status = validate(table); !status.ok()) return line.error(status.message());
    if (!names.insert(table.name).second) {
      return line.error("found the name " + excerpt(table.name) +
                        " a second time, expected unique names");
    }
    file.tables.push_back(std::move(table));
  }
  return {};
}

}  // namespace neuroshard::io
