// What values of flags may be: FlagSet's kinds of flags and how their words are read.
#include <charconv>
#include <cmath>

#include "apps/console/words.h"
#include "apps/flags/flags.h"
#include "engine/core/bytes.h"

namespace neuroshard::apps {
namespace {

std::string number_text(double value) {
  char buffer[32];
  const bool readable = value == 0 || (std::abs(value) >= 1e-6 && std::abs(value) < 1e15);
  const auto format = readable ? std::chars_format::fixed : std::chars_format::general;
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value, format);
  return error == std::errc() ? std::string(buffer, end) : std::string();
}

Status found_expected(std::string_view found, const std::string& expected) {
  return invalid_input("found '" + std::string(found) + "', expected " + expected);
}

}  // namespace

FlagSet::Flag& FlagSet::texts(std::string name, std::string value_name, std::string help,
                              std::vector<std::string>* out) {
  Flag& flag = add(std::move(name), std::move(value_name), std::move(help), "",
                   [out](const std::string& word) {
                     std::string value;
                     NEUROSHARD_RETURN_IF_ERROR(assign_text(word, &value));
                     out->push_back(std::move(value));
                     return Status();
                   });
  flag.repeatable_ = true;
  return flag;
}

FlagSet::Flag& FlagSet::numbers(std::string name, std::string value_name, std::string help,
                                std::vector<double*> out, Range range, std::size_t optional) {
  std::vector<std::string> defaults;
  for (const double* value : out) defaults.push_back(shown(*value));
  return add(
      std::move(name), std::move(value_name), std::move(help), join(defaults, ","),
      [out = std::move(out), range, optional](const std::string& text) {
        const std::vector<std::string> words = split(text, ',');
        const std::size_t least = out.size() - optional;
        if (words.size() < least || words.size() > out.size()) {
          const std::string counts =
              (optional > 0 ? std::to_string(least) + (optional > 1 ? " to " : " or ") : "") +
              std::to_string(out.size());
          return found_expected(text, counts + " numbers separated by single commas");
        }
        std::vector<double> values(words.size());
        for (std::size_t index = 0; index < words.size(); ++index) {
          NEUROSHARD_RETURN_IF_ERROR(parse_number(words[index], range, values[index]));
        }
        for (std::size_t index = 0; index < words.size(); ++index) {
          *out[index] = values[index];
        }
        return Status();
      });
}

FlagSet::Flag& FlagSet::seed(std::string name, std::string help, std::uint64_t* out) {
  return add(std::move(name), "K", std::move(help), shown(*out), [out](const std::string& word) {
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, *out);
    if (error == std::errc() && stop == end) return Status();
    return found_expected(word, "an integer from 0 to 18446744073709551615");
  });
}

FlagSet::Flag& FlagSet::bytes(std::string name, std::string help, std::int64_t* out,
                              std::int64_t low) {
  return add(std::move(name), "SIZE", std::move(help), "",
             [out, low](const std::string& word) { return parse_size(word, low, *out); });
}

FlagSet::Flag& FlagSet::sizes(std::string name, std::string help, std::vector<std::int64_t>* out) {
  return add(std::move(name), "SIZE,SIZE,..", std::move(help), "", [out](const std::string& text) {
    std::vector<std::int64_t> values;
    for (const std::string& word : split(text, ',')) {
      std::int64_t value = 0;
      NEUROSHARD_RETURN_IF_ERROR(parse_size(word, 1, value));
      NEUROSHARD_RETURN_IF_ERROR(check_new(values, value, text, word));
      values.push_back(value);
    }
    *out = std::move(values);
    return Status();
  });
}

FlagSet::Flag& FlagSet::list(std::string name, std::string value_name, std::string help,
                             std::vector<std::string>* out) {
  return add(std::move(name), std::move(value_name), std::move(help), join(*out, ","),
             [out](const std::string& text) {
               std::vector<std::string> words;
               for (std::string& word : split(text, ',')) {
                 if (word.empty()) return found_expected(text, "words separated by single commas");
                 NEUROSHARD_RETURN_IF_ERROR(check_new(words, word, text, word));
                 words.push_back(std::move(word));
               }
               *out = std::move(words);
               return Status();
             });
}

std::string FlagSet::shown(double value) { return number_text(value); }

Status FlagSet::found_twice(const std::string& text, const std::string& word) {
  return found_expected(text, "no value twice ('" + word + "')");
}

Status FlagSet::parse_size(const std::string& word, std::int64_t low, std::int64_t& out) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t value, parse_bytes(word));
  if (value < low) return found_expected(word, "a size above 0 such as 4GiB or 80GB");
  out = value;
  return {};
}

Status FlagSet::parse_integer(std::string_view word, std::int64_t low, std::int64_t high,
                              std::int64_t& out) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc() && stop == word.data() + word.size() && value >= low && value <= high) {
    out = value;
    return {};
  }
  return found_expected(word,
                        "an integer from " + std::to_string(low) + " to " + std::to_string(high));
}

Status FlagSet::parse_number(std::string_view word, Range range, double& out) {
  double value = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool whole = error == std::errc() && stop == word.data() + word.size();
  // Written so that NaN fails.
  const bool high_enough = value > range.low || (range.low_included && value == range.low);
  if (whole && high_enough && value <= range.high) {
    out = value;
    return {};
  }
  return found_expected(
      word, (range.low_included ? "a number from " : "a number above ") + number_text(range.low) +
                (range.low_included ? " to " : ", at most ") + number_text(range.high));
}

}  // namespace neuroshard::apps
