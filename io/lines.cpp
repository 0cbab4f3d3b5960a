#include "io/lines.h"

#include <charconv>

#include "io/json/json_writer.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

constexpr std::string_view kBlanks = " \t";

/// Comma-separated values of type T inside [low, high]; NaN is never inside.
template <typename T>
Result<std::vector<T>> parse_list(const Line& line, std::string_view field, std::string_view what,
                                  T low, T high, const std::string& range) {
  std::vector<T> values;
  for (std::size_t start = 0; start <= field.size();) {
    const std::size_t comma = std::min(field.find(',', start), field.size());
    const std::string_view token = field.substr(start, comma - start);
    T value{};
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    const bool whole = error == std::errc() && end == token.data() + token.size();
    if (!whole || !(value >= low && value <= high)) {
      return line.error(std::string(what) + ": found " + excerpt(token) + ", expected " + range);
    }
    values.push_back(value);
    start = comma + 1;
  }
  return values;
}

template <typename T, typename Format>
std::string join_with(const std::vector<T>& values, Format format) {
  std::string out;
  for (const T value : values) {
    if (!out.empty()) out += ',';
    out += format(value);
  }
  return out;
}

/// A line of a file that went through Windows.
std::string_view without_return(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

Status Line::error(const std::string& message) const {
  return invalid_input(*source + ":" + std::to_string(number) + ": " + message);
}

Result<std::vector<Line>> split_lines(std::string_view bytes, const std::string& source,
                                      LastLine last) {
  bytes = without_mark(bytes);
  if (bytes.empty()) return invalid_input(source + ":1: found an empty file, expected lines");
  NEUROSHARD_RETURN_IF_ERROR(check_text(bytes, source));
  std::vector<Line> lines;
  for (std::size_t start = 0; start < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', start), bytes.size());
    const Line line{&source, static_cast<std::int64_t>(lines.size()) + 1,
                    without_return(bytes.substr(start, end - start))};
    if (end == bytes.size() && last == LastLine::kTornWithoutBreak) {
      return line.error("found " + excerpt(line.text) +
                        " without a line break, expected a whole line");
    }
    if (line.text.find_first_not_of(kBlanks) == std::string_view::npos) {
      return line.error("found an empty line, expected none");
    }
    lines.push_back(line);
    start = end + 1;
  }
  return lines;
}

Result<std::vector<std::string_view>> split_fields(const Line& line, std::size_t count,
                                                   std::string_view form) {
  std::vector<std::string_view> fields;
  for (std::size_t start = line.text.find_first_not_of(kBlanks);
       start != std::string_view::npos && fields.size() <= count;) {
    const std::size_t end = std::min(line.text.find_first_of(kBlanks, start), line.text.size());
    fields.push_back(line.text.substr(start, end - start));
    start = line.text.find_first_not_of(kBlanks, end);
  }
  if (fields.size() == count) return fields;
  return line.error("found " + excerpt(line.text) + ", expected '" + std::string(form) + "'");
}

Result<std::vector<std::int64_t>> parse_integers(const Line& line, std::string_view field,
                                                 std::string_view what, std::int64_t low,
                                                 std::int64_t high) {
  return parse_list(line, field, what, low, high, integer_range(low, high));
}

Result<std::vector<double>> parse_numbers(const Line& line, std::string_view field,
                                          std::string_view what, double low, double high) {
  return parse_list(line, field, what, low, high, number_range(low, high));
}

std::string join(const std::vector<std::int32_t>& values) {
  return join_with(values, [](std::int32_t value) { return std::to_string(value); });
}

std::string join(const std::vector<std::int64_t>& values) {
  return join_with(values, [](std::int64_t value) { return std::to_string(value); });
}

std::string join(const std::vector<double>& values) { return join_with(values, format_number); }

}  // namespace neuroshard::io
