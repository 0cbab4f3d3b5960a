// The commands that write what the help says in other forms: for man and for bash.
#include <filesystem>
#include <string>
#include <system_error>

#include "apps/console/output.h"
#include "apps/flags/completion.h"
#include "apps/flags/manual.h"
#include "apps/make_commands.h"

namespace neuroshard::apps {
namespace {

class ManualCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags.text("output", "DIR", "directory of the pages, made when missing", &directory_)
        .required();
  }

  Status run(const FlagSet&) override {
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    if (error) return io_error(directory_ + ": " + error.message());
    for (const ManualPage& page : manual_pages()) {
      NEUROSHARD_RETURN_IF_ERROR(deliver(directory_ + "/" + page.file, page.text));
    }
    return {};
  }

 private:
  std::string directory_;
};

class BashCompletionCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags.text("output", "FILE", "where the script goes; - = stdout", &output_).writes();
  }
  Status run(const FlagSet&) override { return deliver(output_, bash_completion()); }

 private:
  std::string output_ = "-";
};

}  // namespace

std::unique_ptr<Command> make_manual_command() { return std::make_unique<ManualCommand>(); }

std::unique_ptr<Command> make_bash_completion_command() {
  return std::make_unique<BashCompletionCommand>();
}

}  // namespace neuroshard::apps
