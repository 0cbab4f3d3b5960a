#include "io/cost_data/append_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

namespace neuroshard::io {

Status AppendLog::failed(const std::string& what) const {
  return io_error(path_ + ": " + what + ": " + last_error());
}

Result<AppendLog> AppendLog::open(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY;
  AppendLog log(path, Descriptor(::open(path.c_str(), kFlags, 0666)));
  if (!log.file_.is_open()) return log.failed("cannot open for appending");
  struct stat info {};
  if (::fstat(log.file_.get(), &info) != 0) return log.failed("cannot open for appending");
  if (!S_ISREG(info.st_mode)) {
    return io_error(path + ": cannot append: found a special file, expected a regular one");
  }
  if (!lock_alone(log.file_)) {
    if (errno != EWOULDBLOCK) return log.failed("cannot lock");
    return io_error(path + ": another process is writing to it, expected to be the only one");
  }
  NEUROSHARD_RETURN_IF_ERROR(log.repair());
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!sync_directory(parent.empty() ? "." : parent.string())) return log.failed("cannot sync");
  return log;
}

Status AppendLog::repair() {
  std::array<char, 1 << 16> buffer;
  std::int64_t read = 0;
  while (true) {
    const ssize_t count = ::pread(file_.get(), buffer.data(), buffer.size(), read);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("reading failed");
    if (count == 0) break;
    for (ssize_t index = 0; index < count; ++index) {
      if (buffer[static_cast<std::size_t>(index)] != '\n') continue;
      ++lines_;
      size_ = read + index + 1;
    }
    read += count;
  }
  repaired_bytes_ = read - size_;
  if (repaired_bytes_ == 0) return {};
  if (::ftruncate(file_.get(), size_) != 0 || ::fdatasync(file_.get()) != 0) {
    return failed("cannot cut off a torn last line");
  }
  return {};
}

Status AppendLog::append(std::string_view line) {
  if (line.find('\n') != std::string_view::npos) {
    return internal_error(path_ + ": a line to append holds a line break");
  }
  if (torn_ && ::ftruncate(file_.get(), size_) != 0) return failed("cannot cut off a torn line");
  std::string text(line);
  text += '\n';
  torn_ = true;
  if (!write_all(file_.get(), text)) {
    Status status = failed("cannot append");
    torn_ = ::ftruncate(file_.get(), size_) != 0;
    return status;
  }
  torn_ = false;
  size_ += static_cast<std::int64_t>(text.size());
  ++lines_;
  return {};
}

Status AppendLog::sync() {
  if (::fdatasync(file_.get()) != 0) return failed("cannot append");
  return {};
}

}  // namespace neuroshard::io
