#include "apps/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "apps/words.h"
#include "io/file.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

/// 0, or the errno of the first failing write.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

Status print(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error == 0 || error == EPIPE) return {};
  return io_error(std::string("standard output: ") + std::strerror(error));
}

Status deliver(const std::string& path, std::string_view bytes) {
  return path == "-" ? print(bytes) : io::write_file_atomically(path, bytes);
}

void print_error(std::string_view context, std::string_view message) {
  const std::string line = io::printable(std::string(context) + ": " + std::string(message)) + "\n";
  static_cast<void>(write_all(STDERR_FILENO, line));
}

void print_note(std::string_view message) {
  static_cast<void>(write_all(STDERR_FILENO, io::printable(message) + "\n"));
}

void note_if_any(std::string_view message) {
  if (!message.empty()) print_note(message);
}

}  // namespace neuroshard::apps
