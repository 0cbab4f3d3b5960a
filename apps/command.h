#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "apps/flags/flags.h"
#include "engine/core/status.h"

namespace neuroshard::apps {

/// One command of the program: declares its flags, then runs with them. Used once, by one thread.
class Command {
 public:
  virtual ~Command() = default;
  /// Binds this object's variables to flags.
  virtual void declare(FlagSet& flags) = 0;
  /// Does the work after a successful parse. Results go to standard output; an error's message is
  /// printed by the caller.
  virtual Status run(const FlagSet& flags) = 0;
};

/// What `neuroshard --help` and `neuroshard NAME --help` show, and how to make the command.
struct CommandEntry {
  std::string_view name;      ///< "plan", "collect compute"
  std::string_view summary;   ///< one line
  std::string_view examples;  ///< whole command lines that work in the root of the source tree
  std::unique_ptr<Command> (*make)();
};

/// The explicit list, in the order of the help.
std::span<const CommandEntry> commands();

/// The whole program: arguments after the program's name -> exit code.
int run_program(std::span<const std::string> arguments);

}  // namespace neuroshard::apps
