#include "apps/console/words.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "engine/core/decimal.h"

namespace neuroshard::apps {
namespace {

/// Levenshtein distance: insertions, deletions and replacements between two words.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  std::size_t begin = 0;
  for (std::size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator, begin)) {
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  pieces.emplace_back(text.substr(begin));
  return pieces;
}

std::string join(std::span<const std::string> words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

std::string suggestion(std::string_view word, std::span<const std::string> known) {
  if (word.size() > 64) return "";  // no typo; keeps the distance cheap on hostile input
  const std::string* best = nullptr;
  const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size());
  std::size_t best_distance = (word.size() - dashes) / 3 + 1;
  for (const std::string& candidate : known) {
    // A word cut short ("--mem") or spelled out is near as well.
    const bool prefix =
        word.size() > 3 && (candidate.starts_with(word) || word.starts_with(candidate));
    const std::size_t distance = prefix ? 1 : edit_distance(word, candidate);
    if (distance > best_distance || (best != nullptr && distance == best_distance)) continue;
    best = &candidate;
    best_distance = distance;
  }
  return best == nullptr ? "" : "; did you mean '" + *best + "'?";
}

Status check_word(const std::string& word, std::span<const std::string> known) {
  if (std::find(known.begin(), known.end(), word) != known.end()) return {};
  return invalid_input("found '" + word + "', expected one of " + join(known, ", ") +
                       suggestion(word, known));
}

std::string with_commas(std::int64_t value) {
  std::string text = std::to_string(value);
  const std::ptrdiff_t first = value < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > first; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return with_commas(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace neuroshard::apps
