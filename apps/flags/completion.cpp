#include "apps/flags/completion.h"

#include <string_view>
#include <vector>

#include "apps/command.h"
#include "apps/console/words.h"

namespace neuroshard::apps {
namespace {

// $command is the command as typed, $before the word before the one that is completed.
constexpr std::string_view kHead = R"(# bash completion of neuroshard; load it with: source FILE
_neuroshard() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local command=${COMP_WORDS[1]} words='' files=''
)";
constexpr std::string_view kTail = R"(  if [[ -n $files && $word != -* ]]; then
    compopt -o filenames 2> /dev/null
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"; compgen "$files" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  fi
}
complete -F _neuroshard neuroshard
)";

std::string quoted(std::span<const std::string> words) { return "'" + join(words, " ") + "'"; }

/// The first words of all commands, and per group its second words.
std::string command_cases() {
  std::vector<std::string> first;
  std::vector<std::string> groups;
  std::vector<std::vector<std::string>> second;
  for (const CommandEntry& entry : commands()) {
    const std::vector<std::string> words = split(entry.name, ' ');
    if (first.empty() || first.back() != words[0]) first.push_back(words[0]);
    if (words.size() == 1) continue;
    if (groups.empty() || groups.back() != words[0]) {
      groups.push_back(words[0]);
      second.emplace_back();
    }
    second.back().push_back(words[1]);
  }
  first.insert(first.end(), {"--help", "--version"});
  std::string text = "  if ((COMP_CWORD == 1)); then\n    words=" + quoted(first) + "\n";
  for (std::size_t k = 0; k < groups.size(); ++k) {
    text += "  elif ((COMP_CWORD == 2)) && [[ $command == " + groups[k] +
            " ]]; then\n    words=" + quoted(second[k]) + "\n";
  }
  return text + "  else\n    case $command in\n      " + join(groups, " | ") +
         ") command+=\" ${COMP_WORDS[2]}\" ;;\n    esac\n  fi\n";
}

bool names_file(const std::string& value_name) {
  return value_name.find("FILE") != std::string::npos ||
         value_name.find("DIR") != std::string::npos;
}

/// What may follow each flag of a command, and its flags themselves.
std::string flag_cases(const CommandEntry& entry) {
  FlagSet flags;
  const std::unique_ptr<Command> command = entry.make();
  command->declare(flags);
  const std::string name(entry.name);
  std::vector<std::string> all;
  std::string text;
  for (const FlagSet::Info& flag : flags.infos()) {
    all.push_back("--" + flag.name);
    text += "    '" + name + " --" + flag.name + "') words=" + quoted(flag.words);
    if (names_file(flag.value_name)) text += " files=-f";
    text += " ;;\n";
  }
  all.emplace_back("--help");
  return text + "    '" + name + " '*) words=" + quoted(all) + " ;;\n";
}

}  // namespace

std::string bash_completion() {
  std::string text(kHead);
  text += command_cases() + "  case \"$command $before\" in\n";
  for (const CommandEntry& entry : commands()) text += flag_cases(entry);
  return text + "  esac\n" + std::string(kTail);
}

}  // namespace neuroshard::apps
