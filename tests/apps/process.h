#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace neuroshard::test {

/// How a finished process went: its exit code (128 + n when signal n ended it) and all it wrote.
struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

struct ProcessOptions {
  std::string input{};                ///< standard input
  std::string output_path{};          ///< standard output goes there, not to Outcome
  std::filesystem::path directory{};  ///< empty = inherited
  std::vector<std::pair<std::string, std::string>> environment{};  ///< on top of the inherited one
};

/// A running process; the destructor kills what is left. Not thread-safe.
class Process {
 public:
  Process(const std::vector<std::string>& arguments, const ProcessOptions& options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t id() const { return pid_; }
  void send_signal(int signal_number) const;
  Outcome wait();

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
};

/// Runs the built command with these arguments to its end.
Outcome run_command(const std::vector<std::string>& arguments, const ProcessOptions& options = {});
/// Runs a line of /bin/sh -c in which `neuroshard` is the built command.
Outcome shell(const std::string& line, ProcessOptions options = {});
/// Like run_command(), but on a pseudo-terminal of 100 columns: everything shown is in `out`.
Outcome on_terminal(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

/// A fresh folder that is gone, with all in it, when this object is.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// The path of a file in it, written when `bytes` are given.
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const;

 private:
  std::filesystem::path path_;
};

std::string slurp(const std::string& path);
/// A file of the source tree.
std::string source_file(const std::string& relative);
/// Words between blanks.
std::vector<std::string> split_words(const std::string& text);
/// Names of all commands, read off `neuroshard --help`.
std::vector<std::string> command_names();
/// Plans the example's 26 tables by a budget that gives the same plan on every machine.
std::vector<std::string> example_plan_arguments(const std::vector<std::string>& more = {});
bool contains(const std::string& text, const std::string& part);
/// Lines of a text, the last one included when it does not end in '\n'.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace neuroshard::test
