#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/status.h"

namespace neuroshard::apps {

/// Pieces of `text` between separators; "" gives one empty piece.
std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> words, std::string_view separator);

/// "; did you mean 'x'?" for the known word nearest to a typo, or "" when none is near.
std::string suggestion(std::string_view word, std::span<const std::string> known);

/// OK when `word` is one of `known`; else the error lists them.
Status check_word(const std::string& word, std::span<const std::string> known);

/// 1234567 -> "1,234,567".
std::string with_commas(std::int64_t value);

/// "1 table", "2,000 tables".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace neuroshard::apps
