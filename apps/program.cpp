#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "apps/command.h"
#include "apps/console/output.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "apps/exit_code.h"
#include "apps/flags/file_uses.h"
#include "engine/core/version.h"

namespace neuroshard::apps {
namespace {

constexpr std::string_view kProgram = "neuroshard";
constexpr std::string_view kPurpose =
    "neuroshard - plans which shard of which embedding table lives on which device\n\n";

bool is_help(const std::string& word) { return word == "--help" || word == "-h"; }

/// One aligned paragraph a flag, if there are any.
std::string flag_help(const FlagSet& flags) {
  const std::string help = flags.help();
  return help.empty() ? "" : "\nflags:\n" + help;
}

std::string program_name(std::string_view command) {
  return std::string(kProgram) + (command.empty() ? "" : " ") + std::string(command);
}

int finish(std::string_view command, const Status& status) {
  if (!status.ok()) print_error(program_name(command), status.message());
  return exit_code(status);
}

/// The commands whose name is `group` or starts with `group` + blank; all when it is empty.
std::string command_list(std::string_view group) {
  const Console console = Console::of(STDOUT_FILENO);
  std::string text;
  std::size_t widest = 0;
  for (const CommandEntry& entry : commands()) widest = std::max(widest, entry.name.size());
  for (const CommandEntry& entry : commands()) {
    if (!group.empty() && !entry.name.starts_with(std::string(group) + " ")) continue;
    text += "  " + console.paint(entry.name, Style::kBold) +
            std::string(widest - entry.name.size() + 2, ' ') + std::string(entry.summary) + "\n";
  }
  return text;
}

/// "exit codes: 0 done, 1 failed (..), .."
std::string exit_code_line() {
  std::vector<std::string> codes;
  for (const ExitCode& exit : exit_codes()) {
    codes.push_back(std::to_string(exit.code) + " " + std::string(exit.meaning));
  }
  return "exit codes: " + join(codes, ", ") + "\n";
}

std::string program_help() {
  return std::string(kPurpose) + "usage: neuroshard COMMAND [flags]\n\ncommands:\n" +
         command_list("") +
         "\n  neuroshard COMMAND --help shows a command's flags and an example; neuroshard "
         "--version\n" +
         "\nexample:\n" + std::string(commands().front().examples) + "\n" + exit_code_line();
}

std::string group_help(const std::string& group) {
  return "usage: neuroshard " + group + " COMMAND [flags]\n\ncommands:\n" + command_list(group);
}

std::string command_help(const CommandEntry& entry, const FlagSet& flags) {
  const std::string name(entry.name);
  return "neuroshard " + name + " - " + std::string(entry.summary) + "\n\nusage: neuroshard " +
         name + flags.usage() + "\n" + flag_help(flags) + "\nexample:\n" +
         std::string(entry.examples);
}

int run_command(const CommandEntry& entry, std::span<const std::string> arguments) {
  const std::unique_ptr<Command> command = entry.make();
  FlagSet flags;
  command->declare(flags);
  if (std::any_of(arguments.begin(), arguments.end(), is_help)) {
    return finish(entry.name, print(command_help(entry, flags)));
  }
  if (const auto answer = flags.answer(arguments)) {
    return finish(entry.name, answer->ok() ? print(**answer) : answer->status());
  }
  Status status = flags.parse(arguments);
  if (status.ok()) status = check_files(flags.files());
  if (!status.ok()) return finish(entry.name, status);
  return finish(entry.name, command->run(flags));
}

/// First words of all commands: "plan", "collect", ...
std::vector<std::string> first_words() {
  std::vector<std::string> words;
  for (const CommandEntry& entry : commands()) {
    const std::string word(entry.name.substr(0, entry.name.find(' ')));
    if (words.empty() || words.back() != word) words.push_back(word);
  }
  return words;
}

/// A group such as `collect`: its second word chooses the command.
int run_group(const std::string& group, std::span<const std::string> arguments) {
  std::vector<std::string> second_words;
  for (const CommandEntry& entry : commands()) {
    if (!entry.name.starts_with(group + " ")) continue;
    second_words.emplace_back(entry.name.substr(group.size() + 1));
    if (!arguments.empty() && arguments[0] == second_words.back()) {
      return run_command(entry, arguments.subspan(1));
    }
  }
  if (arguments.empty()) {
    return finish(group, invalid_input("found no command, expected " + join(second_words, " or ")));
  }
  if (is_help(arguments[0])) return finish(group, print(group_help(group)));
  return finish(group, check_word(arguments[0], second_words));
}

}  // namespace

int run_program(std::span<const std::string> arguments) {
  if (arguments.empty()) {
    return finish("", invalid_input("found no command, expected one; see neuroshard --help"));
  }
  const std::string& word = arguments[0];
  if (is_help(word)) return finish("", print(program_help()));
  if (word == "help") {
    std::vector<std::string> asked(arguments.begin() + 1, arguments.end());
    asked.emplace_back("--help");
    return run_program(asked);
  }
  if (word == "--version") {
    if (arguments.size() > 1) {
      return finish("", invalid_input("found '" + arguments[1] + "' after --version"));
    }
    return finish("", print(std::string("neuroshard ") + version() + " (" + commit() + ")\n"));
  }
  for (const CommandEntry& entry : commands()) {
    if (entry.name == word) return run_command(entry, arguments.subspan(1));
  }
  const std::vector<std::string> known = first_words();
  if (std::find(known.begin(), known.end(), word) != known.end()) {
    return run_group(word, arguments.subspan(1));
  }
  return finish("", check_word(word, known).with_context("unknown command"));
}

}  // namespace neuroshard::apps
