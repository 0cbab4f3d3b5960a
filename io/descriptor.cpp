#include "io/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace neuroshard::io {

bool Descriptor::close() {
  const int value = std::exchange(value_, -1);
  return value < 0 || ::close(value) == 0;
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {  // somebody made our standard output non-blocking
      pollfd ready{descriptor, POLLOUT, 0};
      if (::poll(&ready, 1, -1) < 0 && errno != EINTR) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool sync_directory(const std::string& directory) {
  const Descriptor file(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Files can be made in a folder that may not be read, and they are in it by now.
  if (!file.is_open() && errno == EACCES) return true;
  return file.is_open() && (::fsync(file.get()) == 0 || errno == EINVAL);
}

bool lock_alone(const Descriptor& file) {
  return file.is_open() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

std::string last_error() { return std::generic_category().message(errno); }

}  // namespace neuroshard::io
