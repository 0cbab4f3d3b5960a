#include "tests/apps/process.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/support/sanitized.h"

namespace neuroshard::test {
namespace {

int unnamed_file() {
  char name[] = "/tmp/neuroshard-test-XXXXXX";
  const int descriptor = mkstemp(name);
  if (descriptor < 0) throw std::runtime_error("no temporary file");
  unlink(name);
  return descriptor;
}

std::string contents(int descriptor) {
  std::string text;
  char buffer[65536];
  lseek(descriptor, 0, SEEK_SET);
  for (ssize_t size = 0; (size = read(descriptor, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(size));
  }
  return text;
}

/// In the child: becomes the program, or exits with 127.
[[noreturn]] void become(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) _exit(127);
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  _exit(127);
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

std::vector<std::string> with_command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), NEUROSHARD_COMMAND);
  return arguments;
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments, const ProcessOptions& options)
    : out_(unnamed_file()), err_(unnamed_file()) {
  const int in = unnamed_file();
  if (write(in, options.input.data(), options.input.size()) < 0) {
    throw std::runtime_error("no input file");
  }
  lseek(in, 0, SEEK_SET);
  pid_ = fork();
  if (pid_ == 0) {
    const int out =
        options.output_path.empty() ? out_ : open(options.output_path.c_str(), O_WRONLY);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err_, STDERR_FILENO);
    become(arguments, options);
  }
  close(in);
}

Process::~Process() {
  if (pid_ > 0) {
    send_signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(out_);
  close(err_);
}

void Process::send_signal(int signal_number) const { kill(pid_, signal_number); }

Outcome Process::wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return {code_of(status), contents(out_), contents(err_)};
}

Outcome run_command(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  return Process(with_command(arguments), options).wait();
}

Outcome shell(const std::string& line, ProcessOptions options) {
  const std::string folder = std::filesystem::path(NEUROSHARD_COMMAND).parent_path().string();
  options.environment.emplace_back("PATH", folder + ":" + std::getenv("PATH"));
  return Process({"/bin/bash", "-o", "pipefail", "-c", line}, options).wait();
}

Outcome on_terminal(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  winsize size{};
  size.ws_row = 50;
  size.ws_col = 100;
  int terminal = -1;
  const pid_t pid = forkpty(&terminal, nullptr, nullptr, &size);
  if (pid == 0) become(with_command(arguments), options);
  Outcome outcome;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(terminal, buffer, sizeof buffer)) > 0;) {
    outcome.out.append(buffer, static_cast<std::size_t>(got));
  }
  int status = 0;
  waitpid(pid, &status, 0);
  close(terminal);
  outcome.exit_code = code_of(status);
  return outcome;
}

TemporaryFolder::TemporaryFolder() {
  char name[] = "/tmp/neuroshard-test-XXXXXX";
  if (mkdtemp(name) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& bytes) const {
  std::ofstream(file(name), std::ios::binary) << bytes;
  return file(name);
}

std::string slurp(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string source_file(const std::string& relative) {
  return std::string(NEUROSHARD_SOURCE_DIR) + "/" + relative;
}

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  bool in_list = false;
  for (const std::string& line : lines_of(run_command({"--help"}).out)) {
    if (line.empty()) in_list = false;
    if (in_list) names.push_back(line.substr(2, line.find("  ", 2) - 2));
    if (line == "commands:") in_list = true;
  }
  return names;
}

std::vector<std::string> example_plan_arguments(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"plan",
                                     "--tables",
                                     source_file("examples/dlrm_dcnv2.json"),
                                     "--devices",
                                     "8",
                                     "--device-memory",
                                     "80GB",
                                     "--evaluations",
                                     unless_sanitized("20000", "1000")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace neuroshard::test
