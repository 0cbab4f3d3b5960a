#include "io/temporary_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

namespace neuroshard::io {
namespace {

constexpr std::string_view kPrefix = ".neuroshard-";
constexpr std::string_view kSuffix = ".tmp";

/// A name that no other thread of this process and no living process on this machine comes to.
std::filesystem::path next_path(const std::filesystem::path& folder) {
  static std::atomic<unsigned> counter{0};
  return folder / (std::string(kPrefix) + std::to_string(::getpid()) + "-" +
                   std::to_string(counter.fetch_add(1)) + std::string(kSuffix));
}

/// By a lock and not by the process number in its name: that may mean another process elsewhere, on
/// a disk that machines or containers share.
void remove_if_stale(const std::filesystem::path& path) {
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const Descriptor file(::open(path.c_str(), kFlags));
  struct stat own {};
  if (!file.is_open() || ::fstat(file.get(), &own) != 0) return;
  if (!S_ISREG(own.st_mode) || own.st_uid != ::geteuid() || !lock_alone(file)) return;
  // Between opening and locking, somebody may have removed it and taken the name anew.
  struct stat named {};
  const bool same = ::lstat(path.c_str(), &named) == 0 && named.st_dev == own.st_dev &&
                    named.st_ino == own.st_ino;
  if (same) ::unlink(path.c_str());
}

}  // namespace

TemporaryFile::TemporaryFile(std::filesystem::path folder, Kind kind, std::optional<mode_t> mode)
    : folder_(std::move(folder)), mode_(mode) {
  const mode_t until_complete = mode ? 0600 : 0666;
  kind == Kind::kUnnamed ? open_unnamed(until_complete) : open_named(until_complete);
}

TemporaryFile::~TemporaryFile() {
  const int reason = errno;  // of a failure that ends its life
  if (!path_.empty()) ::unlink(path_.c_str());
  errno = reason;
}

void TemporaryFile::open_unnamed(mode_t mode) {
  file_ = Descriptor(::open(folder_.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, mode));
  lock_alone(file_);
}

void TemporaryFile::open_named(mode_t mode) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  while (true) {
    std::filesystem::path path = next_path(folder_);
    file_ = Descriptor(::open(path.c_str(), kFlags, mode));
    if (!file_.is_open()) {
      if (errno != EEXIST) return;
      continue;
    }
    path_ = std::move(path);
    lock_alone(file_);
    struct stat info {};
    if (::fstat(file_.get(), &info) == 0 && info.st_nlink > 0) return;
    path_.clear();  // taken for stale before it was locked
  }
}

bool TemporaryFile::fill(std::string_view bytes) {
  return file_.is_open() && write_all(file_.get(), bytes) &&
         (!mode_ || ::fchmod(file_.get(), *mode_) == 0) && ::fsync(file_.get()) == 0;
}

/// Only a rename replaces a file, and only what has a name can be renamed.
bool TemporaryFile::link() {
  const std::string own = "/proc/self/fd/" + std::to_string(file_.get());
  while (true) {
    std::filesystem::path path = next_path(folder_);
    if (::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      path_ = std::move(path);
      return true;
    }
    if (errno != EEXIST) return false;
  }
}

bool TemporaryFile::move_to(const std::filesystem::path& target) {
  if (path_.empty() && !link()) return false;
  if (::rename(path_.c_str(), target.c_str()) != 0) return false;
  path_.clear();
  return true;
}

void remove_stale_files(const std::filesystem::path& folder) {
  // Not by std::filesystem, whose iterators end the program where memory runs out.
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  if (entries == nullptr) return;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(kPrefix) && name.ends_with(kSuffix)) remove_if_stale(folder / name);
  }
}

}  // namespace neuroshard::io
