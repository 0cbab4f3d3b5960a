#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include "io/descriptor.h"
#include "io/safetensors.h"
#include "io/temporary_file.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

Status cannot_read(const std::string& path, const std::string& why) {
  return invalid_input(path + ": cannot read: " + why);
}

Status cannot_write(const std::string& path) {
  return io_error(path + ": cannot write: " + last_error());
}

/// What may be in a file.
struct Content {
  std::int64_t most_bytes;
  StartCheck check_start;  ///< null: anything
};

constexpr Content kText{kMaxTextBytes, check_start};
constexpr Content kTensors{kMaxTensorFileBytes, check_safetensors_start};

std::string size_text(std::int64_t bytes) {
  const bool large = bytes >= std::int64_t{1} << 30;
  return large ? std::to_string(bytes >> 30) + " GiB" : std::to_string(bytes >> 20) + " MiB";
}

/// Reads until the end of `descriptor`. `size_hint` saves growing the text of a regular file.
Result<std::string> read_all(int descriptor, const std::string& name, const Content& content,
                             std::int64_t size_hint) {
  const auto most = static_cast<std::size_t>(content.most_bytes);
  std::string bytes;
  std::size_t used = 0;
  while (true) {
    if (used == bytes.size()) {
      const std::size_t hint = static_cast<std::size_t>(size_hint) + 1;
      const std::size_t more = used + std::max(used / 2, kChunkBytes);
      bytes.resize(used == 0 && hint > 1 ? hint : std::min(more, most + 1));
    }
    const ssize_t count = ::read(descriptor, bytes.data() + used, bytes.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EISDIR) return cannot_read(name, last_error());
    if (count < 0) return io_error(name + ": reading failed: " + last_error());
    if (count == 0) break;
    const std::string_view block(bytes.data() + used, static_cast<std::size_t>(count));
    if (used == 0 && content.check_start != nullptr) {
      NEUROSHARD_RETURN_IF_ERROR(content.check_start(block.substr(0, kChunkBytes), name));
    }
    used += block.size();
    if (used > most) {
      return cannot_read(name, "more than " + size_text(content.most_bytes) + ", expected less");
    }
  }
  bytes.resize(used);
  return bytes;
}

Result<std::string> read(const std::string& path, const Content& content) {
  if (path == "-") return read_all(STDIN_FILENO, source_name(path), content, 0);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return cannot_read(path, last_error());
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return cannot_read(path, last_error());
  if (S_ISDIR(info.st_mode)) return cannot_read(path, "found a directory, expected a file");
  const bool regular = S_ISREG(info.st_mode);
  if (regular && info.st_size > content.most_bytes) {
    return cannot_read(path, "found " + std::to_string(info.st_size) + " bytes, expected at most " +
                                 size_text(content.most_bytes) + " (" +
                                 std::to_string(content.most_bytes) + ")");
  }
  return read_all(file.get(), path, content, regular ? info.st_size : 0);
}

/// The descriptor that "-", "/dev/stdout", "/dev/fd/N" and the like stand for. Renaming over those
/// names would miss the caller's open file.
std::optional<int> descriptor_named(std::string_view path) {
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int number = -1;
    const std::string_view digits = path.substr(folder.size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc() && end == digits.data() + digits.size()) return number;
  }
  return std::nullopt;
}

/// Pipes, devices and terminals: nothing to rename over.
Status write_special(const std::string& path, std::string_view bytes) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.is_open() || !write_all(file.get(), bytes) || !file.close()) return cannot_write(path);
  return {};
}

/// `path` with symbolic links followed, so that the file is replaced and not the link to it, be the
/// file there or not.
std::filesystem::path resolve(const std::string& path) {
  constexpr int kMostLinks = 40;  // as Linux
  std::filesystem::path target = path;
  std::error_code error;
  for (int k = 0; k < kMostLinks && std::filesystem::is_symlink(target, error); ++k) {
    const std::filesystem::path next = std::filesystem::read_symlink(target, error);
    if (error) break;
    target = target.parent_path() / next;  // `next` alone where it is absolute
  }
  return target;
}

std::filesystem::path folder_of(const std::filesystem::path& target) {
  const std::filesystem::path parent = target.parent_path();
  return parent.empty() ? std::filesystem::path(".") : parent;
}

/// How a path is written: nothing to stat means a new file.
struct Target {
  bool special = false;        ///< a pipe, a device: in place
  std::optional<mode_t> mode;  ///< of the file that is replaced
};

Result<Target> target_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return cannot_write(path);
    return Target{};
  }
  if (S_ISDIR(info.st_mode)) {
    return io_error(path + ": cannot write: found a directory, expected a file");
  }
  if (!S_ISREG(info.st_mode)) return Target{true, std::nullopt};
  // A rename would replace even a file that may not be written.
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) return cannot_write(path);
  return Target{false, info.st_mode & 07777};
}

/// Without a name first; what goes wrong so is tried with one, whose error is told. What has taken
/// the file's place is not written again: a folder that cannot be synced is no better then.
Status replace_file(const std::string& path, std::string_view bytes, std::optional<mode_t> mode) {
  const std::filesystem::path target = resolve(path);
  const std::filesystem::path folder = folder_of(target);
  remove_stale_files(folder);
  using Kind = TemporaryFile::Kind;
  for (const Kind kind : {Kind::kUnnamed, Kind::kNamed}) {
    TemporaryFile temporary(folder, kind, mode);
    if (!temporary.fill(bytes) || !temporary.move_to(target)) continue;
    if (sync_directory(folder.string())) return {};
    return io_error(path + ": written, but lost if the machine fails now: " + last_error());
  }
  return cannot_write(path);
}

}  // namespace

std::string source_name(const std::string& path) { return path == "-" ? "<stdin>" : path; }

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

Result<std::string> read_file(const std::string& path, StartCheck check_start) {
  return read(path, {kMaxFileBytes, check_start});
}

Result<std::string> read_text_file(const std::string& path) { return read(path, kText); }

Result<std::string> read_safetensors_file(const std::string& path) { return read(path, kTensors); }

Status write_file_atomically(const std::string& path, std::string_view bytes) {
  if (const std::optional<int> descriptor = descriptor_named(path)) {
    if (write_all(*descriptor, bytes)) return {};
    return cannot_write(path == "-" ? "<stdout>" : path);
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const Target target, target_of(path));
  return target.special ? write_special(path, bytes) : replace_file(path, bytes, target.mode);
}

Status check_writable(const std::string& path) {
  if (descriptor_named(path)) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(const Target target, target_of(path));
  if (target.special) return {};
  const std::string folder = folder_of(resolve(path)).string();
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return cannot_write(path);
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    return cannot_write(path);
  return {};
}

}  // namespace neuroshard::io
