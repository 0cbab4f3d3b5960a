#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/status.h"

namespace neuroshard::io {

/// One line of a text format made of comma-separated lists between blanks.
struct Line {
  const std::string* source;
  std::int64_t number;  ///< from 1
  std::string_view text;

  /// kInvalidInput "<source>:<number>: <message>".
  [[nodiscard]] Status error(const std::string& message) const;
};

/// Whether the last line may lack its '\n', or is then a line somebody was still writing.
enum class LastLine { kMayLackBreak, kTornWithoutBreak };

/// The lines of `bytes`, without "\n" or "\r\n" and a byte order mark; at least one, none empty.
/// They point into `bytes` and `source`.
Result<std::vector<Line>> split_lines(std::string_view bytes, const std::string& source,
                                      LastLine last);

/// The blank-separated fields of a line, exactly `count`; `form` is shown in the message.
Result<std::vector<std::string_view>> split_fields(const Line& line, std::size_t count,
                                                   std::string_view form);

/// The numbers of a comma-separated field, at least one, each inside [low, high]. `what` names one
/// of them in messages: "table id".
Result<std::vector<std::int64_t>> parse_integers(const Line& line, std::string_view field,
                                                 std::string_view what, std::int64_t low,
                                                 std::int64_t high);
Result<std::vector<double>> parse_numbers(const Line& line, std::string_view field,
                                          std::string_view what, double low, double high);

/// "1,2,3"; numbers in the shortest form that reads back to the same value.
std::string join(const std::vector<std::int32_t>& values);
std::string join(const std::vector<std::int64_t>& values);
std::string join(const std::vector<double>& values);

}  // namespace neuroshard::io
