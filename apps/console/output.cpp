#include "apps/console/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "apps/console/words.h"
#include "io/descriptor.h"
#include "io/file.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

/// io::printable() line by line.
std::string printable_lines(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines += io::printable(text.substr(0, end));
    if (end < text.size()) lines += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

void reserve_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Takes the lowest free number; O_PATH is open for nothing, and there is always a root.
    if (fcntl(stream, F_GETFD) < 0) open("/", O_PATH);
  }
}

Status print(std::string_view text) {
  if (io::write_all(STDOUT_FILENO, text) || errno == EPIPE) return {};
  return io_error("standard output: " + io::last_error());
}

Status deliver(const std::string& path, std::string_view bytes) {
  if (path != "-") return io::write_file_atomically(path, bytes);
  return isatty(STDOUT_FILENO) ? print(printable_lines(bytes)) : print(bytes);
}

void print_error(std::string_view context, std::string_view message) {
  const std::string line =
      io::message_line(std::string(context) + ": " + std::string(message)) + "\n";
  static_cast<void>(io::write_all(STDERR_FILENO, line));
}

void print_note(std::string_view message) {
  static_cast<void>(io::write_all(STDERR_FILENO, io::printable(message) + "\n"));
}

void note_if_any(std::string_view message) {
  if (!message.empty()) print_note(message);
}

}  // namespace neuroshard::apps
