#include "apps/flags/flags.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <cmath>
#include <sstream>

#include "apps/console/words.h"
#include "engine/core/bytes.h"

namespace neuroshard::apps {
namespace {

namespace po = boost::program_options;

constexpr unsigned kHelpWidth = 100;
constexpr unsigned kHelpTextWidth = 64;

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

FlagSet::Flag& FlagSet::add(std::string name, std::string value_name, std::string help,
                            std::string default_text,
                            std::function<Status(const std::string&)> assign) {
  auto flag = std::make_unique<Flag>();
  flag->name_ = std::move(name);
  flag->value_name_ = std::move(value_name);
  flag->help_ = std::move(help);
  flag->default_text_ = std::move(default_text);
  flag->assign_ = std::move(assign);
  flags_.push_back(std::move(flag));
  return *flags_.back();
}

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
                                std::vector<double*> out, Range range) {
  std::vector<std::string> defaults;
  for (const double* value : out) defaults.push_back(shown(*value));
  return add(std::move(name), std::move(value_name), std::move(help), join(defaults, ","),
             [out = std::move(out), range](const std::string& text) {
               const std::vector<std::string> words = split(text, ',');
               if (words.size() != out.size()) {
                 return found_expected(
                     text, std::to_string(out.size()) + " numbers separated by single commas");
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

FlagSet::Flag& FlagSet::bytes(std::string name, std::string help, std::int64_t* out) {
  return add(std::move(name), "SIZE", std::move(help), "", [out](const std::string& word) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t value, parse_bytes(word));
    if (value == 0) return found_expected(word, "a size above 0 such as 4GiB or 80GB");
    *out = value;
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
                 if (std::find(words.begin(), words.end(), word) != words.end()) {
                   return found_expected(text, "no word twice ('" + word + "')");
                 }
                 words.push_back(std::move(word));
               }
               *out = std::move(words);
               return Status();
             });
}

std::string FlagSet::shown(double value) { return number_text(value); }

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

const FlagSet::Flag* FlagSet::find(std::string_view name) const {
  for (const auto& flag : flags_) {
    if (flag->name_ == name) return flag.get();
  }
  return nullptr;
}

bool FlagSet::given(std::string_view name) const {
  return std::find(given_.begin(), given_.end(), name) != given_.end();
}

Status FlagSet::assign(const Flag& flag, const std::string& word) {
  if (given(flag.name_) && !flag.repeatable_) {
    return invalid_input("--" + flag.name_ + ": found twice, expected once");
  }
  given_.push_back(flag.name_);
  if (flag.file_) {
    files_.push_back({"--" + flag.name_, word, flag.file_->kind, flag.file_->written});
  }
  return flag.assign_(word).with_context("--" + flag.name_);
}

Status FlagSet::parse(std::span<const std::string> arguments) {
  given_.clear();
  files_.clear();
  po::options_description known;
  std::vector<std::string> names;
  for (const auto& flag : flags_) {
    known.add_options()(flag->name_.c_str(), po::value<std::string>(), "");
    names.push_back("--" + flag->name_);
  }
  namespace style = po::command_line_style;
  if (std::find(arguments.begin(), arguments.end(), "--") != arguments.end()) {
    return invalid_input("found '--', expected only flags (--name value)");
  }
  std::vector<po::option> options;
  try {
    options = po::command_line_parser(std::vector<std::string>(arguments.begin(), arguments.end()))
                  .options(known)
                  .style(style::allow_long | style::long_allow_next | style::long_allow_adjacent)
                  .allow_unregistered()
                  .run()
                  .options;
  } catch (const po::error_with_option_name& error) {  // only a missing value is left to throw
    return invalid_input(error.get_option_name() + ": found no value, expected one");
  } catch (const po::error& error) {
    return invalid_input(error.what());
  }
  for (const po::option& option : options) {
    const Flag* flag = find(option.string_key);
    if (flag == nullptr || option.unregistered) {
      const std::string& token = option.original_tokens.front();
      if (!token.starts_with("--")) {
        return invalid_input("found '" + token + "', expected only flags (--name value)");
      }
      const std::string name = token.substr(0, token.find('='));
      if (name == "--help") return invalid_input("--help: found a value, expected none");
      return invalid_input("unknown flag '" + name + "'" + suggestion(name, names));
    }
    const std::string& word = option.value.front();
    if (word.starts_with("--")) {  // the next flag, not a value
      return invalid_input("--" + flag->name_ + ": found no value, expected one");
    }
    NEUROSHARD_RETURN_IF_ERROR(assign(*flag, word));
  }
  for (const auto& flag : flags_) {
    if (flag->required_ && !given(flag->name_)) {
      return invalid_input("found no --" + flag->name_ + ", expected --" + flag->name_ + " " +
                           flag->value_name_);
    }
  }
  return {};
}

std::optional<Result<std::string>> FlagSet::answer(std::span<const std::string> arguments) const {
  for (const auto& flag : flags_) {
    if (!flag->answer_) continue;
    const std::string name = "--" + flag->name_;
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      const bool pair =
          arguments[k] == name && k + 1 < arguments.size() && arguments[k + 1] == flag->question_;
      if (pair || arguments[k] == name + "=" + flag->question_) return flag->answer_();
    }
  }
  return std::nullopt;
}

std::string FlagSet::usage() const {
  std::string text;
  bool optional = false;
  for (const auto& flag : flags_) {
    if (flag->required_) text += " --" + flag->name_ + " " + flag->value_name_;
    optional |= !flag->required_;
  }
  return text + (optional ? " [flags]" : "");
}

std::vector<FlagSet::Info> FlagSet::infos() const {
  std::vector<Info> infos;
  for (const auto& flag : flags_) {
    std::string help = flag->help_;
    if (flag->required_) help += " (required)";
    if (flag->repeatable_) help += " (may be repeated)";
    if (!flag->required_ && !flag->default_text_.empty()) {
      help += " (default " + flag->default_text_ + ")";
    }
    infos.push_back(
        {flag->name_, flag->value_name_, std::move(help), flag->words_, flag->required_});
  }
  return infos;
}

std::string FlagSet::help() const {
  po::options_description shown_flags(kHelpWidth, kHelpTextWidth);
  for (const Info& flag : infos()) {
    shown_flags.add_options()(flag.name.c_str(),
                              po::value<std::string>()->value_name(flag.value_name),
                              flag.help.c_str());
  }
  std::ostringstream out;
  out << shown_flags;
  std::string text;
  for (std::string& line : split(out.str(), '\n')) {  // Boost leaves blanks where it wraps
    line.erase(line.find_last_not_of(' ') + 1);
    if (!line.empty()) text += line + "\n";
  }
  return text;
}

}  // namespace neuroshard::apps
