#include "apps/flags/manual.h"

#include <algorithm>
#include <string_view>

#include "apps/command.h"
#include "apps/console/words.h"
#include "apps/exit_code.h"
#include "engine/core/version.h"

namespace neuroshard::apps {
namespace {

/// Text as roff shows it: nothing in it is a request or an escape.
std::string roff(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\') {
      safe += "\\e";
    } else if (c == '-') {
      safe += "\\-";
    } else if ((c == '.' || c == '\'') && (safe.empty() || safe.back() == '\n')) {
      safe += std::string("\\&") + c;
    } else {
      safe += c;
    }
  }
  return safe;
}

/// "collect compute" -> "neuroshard-collect-compute".
std::string page_name(std::string_view command) {
  std::string name = "neuroshard-" + std::string(command);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string opening(const std::string& name, std::string_view summary) {
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return ".TH " + roff(upper) + " 1 \"\" \"neuroshard " + version() + "\" \"NeuroShard\"\n" +
         ".SH NAME\n" + roff(name) + " \\- " + roff(summary) + "\n";
}

std::string examples(std::string_view lines) {
  return ".SH EXAMPLES\n.nf\n" + roff(lines) + ".fi\n";
}

std::string exit_status() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCode& exit : exit_codes()) {
    text += ".TP\n" + std::to_string(exit.code) + "\n" + roff(exit.meaning) + "\n";
  }
  return text;
}

ManualPage command_page(const CommandEntry& entry) {
  FlagSet flags;
  const std::unique_ptr<Command> command = entry.make();
  command->declare(flags);
  std::string synopsis;
  std::string options;
  for (const FlagSet::Info& flag : flags.infos()) {
    const std::string use = "\\-\\-" + roff(flag.name) + " \\fI" + roff(flag.value_name) + "\\fR";
    synopsis += flag.required ? use + "\n" : "[" + use + "]\n";
    options += ".TP\n\\fB\\-\\-" + roff(flag.name) + "\\fR \\fI" + roff(flag.value_name) +
               "\\fR\n" + roff(flag.help) + "\n";
  }
  const std::string name = page_name(entry.name);
  return {name + ".1", opening(name, entry.summary) + ".SH SYNOPSIS\n\\fBneuroshard " +
                           roff(entry.name) + "\\fR\n" + synopsis + ".SH OPTIONS\n" + options +
                           examples(entry.examples) + exit_status() +
                           ".SH SEE ALSO\n.BR neuroshard (1)\n"};
}

ManualPage program_page() {
  std::string list;
  std::string also;
  for (const CommandEntry& entry : commands()) {
    list += ".TP\n\\fBneuroshard " + roff(entry.name) + "\\fR\n" + roff(entry.summary) + "\n";
    also += (also.empty() ? ".BR " : ", \n.BR ") + roff(page_name(entry.name)) + " (1)";
  }
  return {
      "neuroshard.1",
      opening("neuroshard", "plans which shard of which embedding table lives on which device") +
          ".SH SYNOPSIS\n\\fBneuroshard\\fR \\fICOMMAND\\fR [\\fIflags\\fR]\n"
          ".SH COMMANDS\n" +
          list + examples(commands().front().examples) + exit_status() + ".SH SEE ALSO\n" + also +
          "\n"};
}

}  // namespace

std::vector<ManualPage> manual_pages() {
  std::vector<ManualPage> pages{program_page()};
  for (const CommandEntry& entry : commands()) pages.push_back(command_page(entry));
  return pages;
}

}  // namespace neuroshard::apps
