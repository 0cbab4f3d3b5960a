#include "apps/flags/flags.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <sstream>

#include "apps/console/words.h"

namespace neuroshard::apps {
namespace {

namespace po = boost::program_options;

constexpr unsigned kHelpWidth = 100;
constexpr unsigned kHelpTextWidth = 64;

/// As a shell takes it for one word.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:+=%@";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? "'\\''" : std::string(1, letter);
  return text + "'";
}

/// A path without its folders; a folder, which ends with a slash, by its own name.
std::string file_name(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.find_last_of('/') + 1);
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
  given_text_ += " --" + flag.name_ + " " + quoted(flag.file_ ? file_name(word) : word);
  if (flag.file_) {
    FileUse use = *flag.file_;
    use.flag = "--" + flag.name_;
    use.path = word;
    files_.push_back(std::move(use));
  }
  return flag.assign_(word).with_context("--" + flag.name_);
}

/// The arguments, values of two words as one each.
std::vector<std::string> FlagSet::joined(std::span<const std::string> arguments) const {
  std::vector<std::string> words;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    words.push_back(arguments[k]);
    const Flag* flag = arguments[k].starts_with("--") ? find(arguments[k].substr(2)) : nullptr;
    if (flag == nullptr || !flag->two_words_ || k + 2 >= arguments.size()) continue;
    if (arguments[k + 1].starts_with("--") || arguments[k + 2].starts_with("--")) continue;
    words.push_back(arguments[k + 1] + " " + arguments[k + 2]);
    k += 2;
  }
  return words;
}

Status FlagSet::parse(std::span<const std::string> arguments) {
  given_.clear();
  given_text_.clear();
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
    options = po::command_line_parser(joined(arguments))
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
    if (flag->required_ && !given(flag->name_) && !given(flag->instead_)) {
      return invalid_input("found no --" + flag->name_ + ", expected --" + flag->name_ + " " +
                           flag->value_name_);
    }
  }
  return {};
}

std::string FlagSet::given_text() const { return given_text_; }

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
    if (flag->required_) {
      help +=
          flag->instead_.empty() ? " (required)" : " (required without --" + flag->instead_ + ")";
    }
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
