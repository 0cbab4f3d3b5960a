// Command lines of any words. A line of the input is a word; one that begins with a byte of
// kFirstName or above has the name of a command or a flag there. What would run is run only where
// it first reads a file that is not there, so that nothing is searched, measured or written.
#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/command.h"
#include "apps/exit_code.h"
#include "apps/flags/file_uses.h"
#include "io/text.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;
using namespace neuroshard::apps;

namespace {

constexpr unsigned char kFirstName = 0x80;
constexpr unsigned char kNoName = 0xFF;  ///< the word is what follows
constexpr std::size_t kMostWords = 64;

/// Where standard output and error go while it lives.
class Streams {
 public:
  Streams() {
    static const int kept = dup(STDERR_FILENO);
    static const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    fuzz::require(kept >= 0 && nowhere >= 0 && error_ >= 0, "streams can be kept");
    // What the sanitizers find is still to be seen.
    __sanitizer_set_report_fd(reinterpret_cast<void*>(static_cast<std::intptr_t>(kept)));
    fuzz::require(ftruncate(error_, 0) == 0, "what was said can be forgotten");
    lseek(error_, 0, SEEK_SET);
    output_ = dup(STDOUT_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(error_, STDERR_FILENO);
    kept_ = kept;
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams() {
    dup2(kept_, STDERR_FILENO);
    dup2(output_, STDOUT_FILENO);
    close(output_);
  }

  [[nodiscard]] static std::string error() {
    std::string text(static_cast<std::size_t>(lseek(error_, 0, SEEK_END)), '\0');
    const ssize_t count = pread(error_, text.data(), text.size(), 0);
    fuzz::require(count == std::ssize(text), "what was said is read");
    return text;
  }

 private:
  inline static const int error_ = memfd_create("error", MFD_CLOEXEC);
  int kept_ = -1;
  int output_ = -1;
};

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < kMostWords) {
    const std::size_t end = std::min(text.find_first_of(std::string_view("\n\0", 2)), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The line with the name in it that its first byte stands for, of `count` names.
template <typename Name>
std::string word_of(const std::string& line, std::size_t count, const Name& name) {
  const auto first = static_cast<unsigned char>(line.empty() ? ' ' : line.front());
  if (first < kFirstName || count == 0) return line;
  if (first == kNoName) return line.substr(1);
  return name((first - kFirstName) % count) + line.substr(1);
}

/// The command that the words begin with, or nullptr; removes its name.
const CommandEntry* command_of(std::span<const std::string>& words) {
  for (const CommandEntry& entry : commands()) {
    const std::size_t blank = entry.name.find(' ');
    const std::size_t count = blank == std::string_view::npos ? 1 : 2;
    if (words.size() < count || words[0] != entry.name.substr(0, blank)) continue;
    if (count == 2 && words[1] != entry.name.substr(blank + 1)) continue;
    words = words.subspan(count);
    return &entry;
  }
  return nullptr;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> lines = lines_of(text);
  std::vector<std::string> words;
  if (lines.empty()) return words;
  const std::string name = word_of(lines[0], commands().size(), [](std::size_t index) {
    return std::string(commands()[index].name);
  });
  const std::size_t blank = name.find(' ');
  words.push_back(name.substr(0, blank));
  if (blank != std::string::npos) words.push_back(name.substr(blank + 1));
  std::span<const std::string> rest(words);
  std::vector<FlagSet::Info> flags;
  if (const CommandEntry* entry = command_of(rest)) {
    FlagSet declared;
    const std::unique_ptr<Command> command = entry->make();
    command->declare(declared);
    flags = declared.infos();
  }
  for (std::size_t k = 1; k < lines.size(); ++k) {
    words.push_back(word_of(lines[k], flags.size(),
                            [&](std::size_t index) { return "--" + flags[index].name; }));
  }
  return words;
}

/// Whether the command reads one of these before it does anything else, and cannot.
bool is_refused(const CommandEntry& entry, std::span<const FileUse> files) {
  constexpr std::array<std::string_view, 9> kReadFirst{
      "plan", "replan", "simulate", "explain", "check", "export", "compare", "frontier", "sweep"};
  if (std::find(kReadFirst.begin(), kReadFirst.end(), entry.name) == kReadFirst.end()) return false;
  const auto is_stream = [](const FileUse& use) { return use.path == "-"; };
  if (std::any_of(files.begin(), files.end(), is_stream)) return false;
  return std::any_of(files.begin(), files.end(), [](const FileUse& use) {
    std::error_code unknown;
    return (use.flag == "--tables" || use.flag == "--plan") &&
           !std::filesystem::exists(use.path, unknown);
  });
}

/// Files are not written for reasons of the machine.
void require_clear(int code, const std::string& line) {
  const bool unwritable = code == 1 && line.find(": cannot write") != std::string::npos;
  fuzz::require(code == 2 || unwritable, "what is wrong ends with exit code 2", line);
  fuzz::require(line.size() < 5000, "the message is short", line);
  fuzz::require(fuzz::prints_as_one_line(line), "the message is one printable line", line);
}

/// Whether flags and files are right, so that the command would run.
bool runs(const CommandEntry& entry, std::span<const std::string> words) {
  const auto is_help = [](const std::string& word) { return word == "--help" || word == "-h"; };
  if (std::any_of(words.begin(), words.end(), is_help)) return false;
  const std::unique_ptr<Command> command = entry.make();
  FlagSet flags;
  command->declare(flags);
  if (flags.answer(words) || !flags.parse(words).ok() || !check_files(flags.files()).ok()) {
    return false;
  }
  if (!is_refused(entry, flags.files())) return true;
  Status status;
  {
    const Streams streams;
    status = command->run(flags);
  }
  require_clear(exit_code(status), io::message_line(status.message()));
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string> words =
      words_of({reinterpret_cast<const char*>(data), std::min<std::size_t>(size, 4096)});
  std::span<const std::string> rest(words);
  const CommandEntry* entry = command_of(rest);
  if (entry != nullptr && runs(*entry, rest)) return 0;
  int code = 0;
  std::string error;
  {
    const Streams streams;
    code = run_program(words);
    error = Streams::error();
  }
  if (code == 0) {
    fuzz::require(error.empty(), "what is done has no error", error);
    return 0;
  }
  fuzz::require(error.starts_with("neuroshard") && error.ends_with('\n'), "a line is said", error);
  require_clear(code, error.substr(0, error.size() - 1));
  return 0;
}
