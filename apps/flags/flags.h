#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/console/words.h"
#include "apps/flags/file_uses.h"
#include "engine/core/status.h"

namespace neuroshard::apps {

/// The flags of one command, each bound to a variable of the command: what is declared here is what
/// is parsed, checked and shown by --help. Only `--flag value` and `--flag=value` exist: no short
/// flags, no positional arguments, no abbreviations. Not thread-safe.
class FlagSet {
 public:
  /// One declared flag; the setters return it so that a declaration reads as one sentence.
  class Flag {
   public:
    Flag& required() {
      required_ = true;
      return *this;
    }
    /// Required where the other flag is not given.
    Flag& required_without(std::string other) {
      instead_ = std::move(other);
      return required();
    }
    /// The value is two words: one argument with a blank in it, or two.
    Flag& two_words() {
      two_words_ = true;
      return *this;
    }
    /// What --help shows as the default when the variable's own value does not say it.
    Flag& default_text(std::string text) {
      default_text_ = std::move(text);
      return *this;
    }
    /// The value is a file, or a directory of data, that the command reads: check_files().
    Flag& reads(std::string kind = "") { return uses(std::move(kind), false); }
    /// The value is a file that the command writes.
    Flag& writes(std::string kind = "") { return uses(std::move(kind), true); }
    /// The same, or a folder of files.
    Flag& writes_file_or_folder(std::string kind) {
      uses(std::move(kind), true).file_->folder = true;
      return *this;
    }
    /// A value that asks instead of sets ("list"): the command then prints `text()` and is done,
    /// whatever the other flags.
    Flag& answers(std::string question, std::function<Result<std::string>()> text) {
      words_.push_back(question);
      question_ = std::move(question);
      answer_ = std::move(text);
      return *this;
    }

   private:
    friend class FlagSet;
    Flag& uses(std::string kind, bool written) {
      file_ = FileUse{"", "", std::move(kind), written};
      return *this;
    }
    std::string name_;
    std::string value_name_;
    std::string help_;
    std::string default_text_;
    std::string question_;
    std::optional<FileUse> file_;
    std::vector<std::string> words_;  // values worth offering, where they can be listed
    std::function<Result<std::string>()> answer_;
    std::string instead_;  // the flag without which it is required; "": always
    bool required_ = false;
    bool two_words_ = false;
    bool repeatable_ = false;
    std::function<Status(const std::string&)> assign_;  // the error says "found X, expected Y"
  };

  /// Text that may not be empty; `Text` is std::string or std::optional<std::string>.
  template <typename Text>
  Flag& text(std::string name, std::string value_name, std::string help, Text* out) {
    return add(std::move(name), std::move(value_name), std::move(help), shown(*out),
               [out](const std::string& word) { return assign_text(word, out); });
  }

  /// Text that may be given several times; each use appends.
  Flag& texts(std::string name, std::string value_name, std::string help,
              std::vector<std::string>* out);

  /// An integer in [low, high]; `Int` is an integer type or std::optional of one.
  template <typename Int>
  Flag& integer(std::string name, std::string help, Int* out, std::int64_t low, std::int64_t high) {
    return add(std::move(name), "N", std::move(help), shown(*out),
               [out, low, high](const std::string& word) {
                 std::int64_t value = 0;
                 const Status status = parse_integer(word, low, high, value);
                 if (status.ok()) *out = static_cast<typename Plain<Int>::type>(value);
                 return status;
               });
  }

  /// What a number may be: finite, above `low` (or equal when `low_included`), at most `high`.
  struct Range {
    double low = 0;
    double high = 0;
    bool low_included = false;
  };

  /// A number; `Number` is double or std::optional<double>.
  template <typename Number>
  Flag& number(std::string name, std::string value_name, std::string help, Number* out,
               Range range) {
    return add(std::move(name), std::move(value_name), std::move(help), shown(*out),
               [out, range](const std::string& word) {
                 double value = 0;
                 const Status status = parse_number(word, range, value);
                 if (status.ok()) *out = value;
                 return status;
               });
  }
  /// Numbers separated by commas, one for each variable; the last `optional` of them may be left
  /// out, whose variables stay what they are.
  Flag& numbers(std::string name, std::string value_name, std::string help,
                std::vector<double*> out, Range range, std::size_t optional = 0);

  /// A seed: any integer in [0, 2^64).
  Flag& seed(std::string name, std::string help, std::uint64_t* out);
  /// A size above 0 such as 80GB; where 0 means what it says, from 0 on.
  Flag& bytes(std::string name, std::string help, std::int64_t* out, std::int64_t low = 1);
  /// Such sizes separated by commas, none twice.
  Flag& sizes(std::string name, std::string help, std::vector<std::int64_t>* out);
  /// One word of `words`; `Text` is std::string or std::optional<std::string>.
  template <typename Text>
  Flag& choice(std::string name, std::string value_name, std::string help, Text* out,
               std::vector<std::string> words) {
    Flag& flag = add(std::move(name), std::move(value_name), std::move(help), shown(*out),
                     [out, words](const std::string& word) {
                       const Status status = check_word(word, words);
                       if (status.ok()) *out = word;
                       return status;
                     });
    flag.words_ = std::move(words);
    return flag;
  }
  /// The to_string() of one of `values`, which must outlive the flags.
  template <typename Value>
  Flag& value_of(std::string name, std::string value_name, std::string help, Value* out,
                 std::span<const Value> values) {
    std::vector<std::string> words;
    for (const Value& value : values) words.emplace_back(to_string(value));
    Flag& flag = add(std::move(name), std::move(value_name), std::move(help),
                     std::string(to_string(*out)), [out, values, words](const std::string& word) {
                       const Status status = check_word(word, words);
                       for (std::size_t k = 0; k < words.size(); ++k) {
                         if (words[k] == word) *out = values[k];
                       }
                       return status;
                     });
    flag.words_ = std::move(words);
    return flag;
  }
  /// Words separated by commas, none empty, none twice.
  Flag& list(std::string name, std::string value_name, std::string help,
             std::vector<std::string>* out);
  /// Whether a list may have a value twice.
  enum class Repeats { kAllowed, kRefused };
  /// Integers in [low, high] separated by commas.
  template <typename Int>
  Flag& integers(std::string name, std::string help, std::vector<Int>* out, std::int64_t low,
                 std::int64_t high, Repeats repeats = Repeats::kAllowed) {
    std::vector<std::string> defaults;
    for (const Int value : *out) defaults.push_back(std::to_string(value));
    return add(std::move(name), "N,N,..", std::move(help), join(defaults, ","),
               [out, low, high, repeats](const std::string& text) {
                 std::vector<Int> values;
                 for (const std::string& word : split(text, ',')) {
                   std::int64_t value = 0;
                   NEUROSHARD_RETURN_IF_ERROR(parse_integer(word, low, high, value));
                   const auto item = static_cast<Int>(value);
                   if (repeats == Repeats::kRefused) {
                     NEUROSHARD_RETURN_IF_ERROR(check_new(values, item, text, word));
                   }
                   values.push_back(item);
                 }
                 *out = std::move(values);
                 return Status();
               });
  }

  /// Assigns every variable, in the order given. The error names the flag, what was found and what
  /// was expected: an unknown, repeated, missing or valueless flag, a positional argument, a value
  /// that is malformed or out of range.
  Status parse(std::span<const std::string> arguments);

  /// The text asked for by a flag's question among the arguments; nothing when there is none.
  [[nodiscard]] std::optional<Result<std::string>> answer(
      std::span<const std::string> arguments) const;

  /// The files that the flags of the last parse() name.
  [[nodiscard]] std::span<const FileUse> files() const { return files_; }

  /// Was the flag given in the last parse()?
  [[nodiscard]] bool given(std::string_view name) const;

  /// " --tables my.json --devices 8": those of the last parse() with their values, as a shell takes
  /// them, of files the names without folders.
  [[nodiscard]] std::string given_text() const;

  /// One flag as help, manual pages and completion show it.
  struct Info {
    std::string name;
    std::string value_name;
    std::string help;                ///< with what is to be known: required, the default
    std::vector<std::string> words;  ///< values to offer
    bool required;
  };
  [[nodiscard]] std::vector<Info> infos() const;

  /// "--tables FILE --devices N [flags]": the required ones by name.
  [[nodiscard]] std::string usage() const;
  /// One aligned paragraph a flag.
  [[nodiscard]] std::string help() const;

 private:
  template <typename T>
  struct Plain {
    using type = T;
  };
  template <typename T>
  struct Plain<std::optional<T>> {
    using type = T;
  };

  static std::string shown(const std::string& value) { return value; }
  static std::string shown(std::integral auto value) { return std::to_string(value); }
  static std::string shown(double value);
  template <typename T>
  static std::string shown(const std::optional<T>& value) {
    return value ? shown(*value) : std::string();
  }

  template <typename Text>
  static Status assign_text(const std::string& word, Text* out) {
    if (word.empty()) return invalid_input("found '', expected a value");
    *out = word;
    return {};
  }

  static Status parse_integer(std::string_view word, std::int64_t low, std::int64_t high,
                              std::int64_t& out);
  static Status parse_size(const std::string& word, std::int64_t low, std::int64_t& out);
  static Status found_twice(const std::string& text, const std::string& word);
  /// An error when `value`, which `word` of the list `text` says, is among `values`.
  template <typename Value>
  static Status check_new(const std::vector<Value>& values, const Value& value,
                          const std::string& text, const std::string& word) {
    const bool known = std::find(values.begin(), values.end(), value) != values.end();
    return known ? found_twice(text, word) : Status();
  }
  static Status parse_number(std::string_view word, Range range, double& out);

  Flag& add(std::string name, std::string value_name, std::string help, std::string default_text,
            std::function<Status(const std::string&)> assign);
  [[nodiscard]] const Flag* find(std::string_view name) const;
  Status assign(const Flag& flag, const std::string& word);
  [[nodiscard]] std::vector<std::string> joined(std::span<const std::string> arguments) const;

  std::vector<std::unique_ptr<Flag>> flags_;
  std::vector<std::string> given_;
  std::string given_text_;
  std::vector<FileUse> files_;
};

}  // namespace neuroshard::apps
