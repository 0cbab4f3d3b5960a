#include "io/new_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>
#include <vector>

namespace neuroshard::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolderPrefix = ".neuroshard-";
constexpr std::string_view kFolderSuffix = ".folder.tmp";
constexpr int kNames = 1000;  // tried for the hidden folder

Status cannot_write(const std::string& path, const std::string& why) {
  return io_error(path + ": cannot write: " + why);
}

/// Links followed, without what follows the name in "name/".
Result<fs::path> folder_target(const std::string& path) {
  std::error_code error;
  fs::path target = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return cannot_write(path, error.message());
  return target.has_filename() ? target : target.parent_path();
}

/// Where the hidden folder is: within a folder that is there.
fs::path place_of(const fs::path& target) {
  std::error_code error;
  return fs::is_directory(target, error) ? target : target.parent_path();
}

Descriptor open_folder(const fs::path& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool is_hidden(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(kFolderPrefix) && name.ends_with(kFolderSuffix);
}

/// Whether it is a hidden folder that a process left: there is no other with a lock on it.
bool is_stale(const fs::path& path) { return is_hidden(path) && lock_alone(open_folder(path)); }

std::vector<fs::path> entries_of(const fs::path& folder, std::error_code& error) {
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    entries.push_back(at->path());
  }
  return entries;
}

Status check_fillable(const std::string& path, const fs::path& folder) {
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
  return cannot_write(path, last_error());
}

/// Nothing, or a folder with nothing in it but what was left there.
Status check_free(const std::string& path, const fs::path& target) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(target, error);
  if (!fs::exists(status)) return check_fillable(path, target.parent_path());
  if (fs::is_symlink(status)) {  // the others have been followed
    return invalid_input(path + ": is a link to nothing, expected a new or an empty folder");
  }
  if (!fs::is_directory(status)) {
    return invalid_input(path + ": is a file, expected a new or an empty folder");
  }
  for (const fs::path& entry : entries_of(target, error)) {
    if (is_stale(entry)) continue;
    return invalid_input(path + ": has files, expected a new or an empty folder");
  }
  if (error) return cannot_write(path, error.message());
  return check_fillable(path, target);
}

void remove_stale_folders(const fs::path& place) {
  std::error_code ignored;
  for (const fs::path& entry : entries_of(place, ignored)) {
    if (is_stale(entry)) fs::remove_all(entry, ignored);
  }
}

}  // namespace

Status check_new_folder(const std::string& path) {
  NEUROSHARD_ASSIGN_OR_RETURN(const fs::path target, folder_target(path));
  return check_free(path, target);
}

NewFolder::NewFolder(std::string path, fs::path target, fs::path hidden, Descriptor lock)
    : path_(std::move(path)),
      target_(std::move(target)),
      hidden_(std::move(hidden)),
      lock_(std::move(lock)) {}

NewFolder::NewFolder(NewFolder&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      hidden_(std::exchange(other.hidden_, {})),
      lock_(std::move(other.lock_)),
      name_(std::move(other.name_)),
      file_(std::move(other.file_)) {}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!hidden_.empty()) fs::remove_all(hidden_, ignored);
}

Result<NewFolder> NewFolder::open(const std::string& path) {
  NEUROSHARD_ASSIGN_OR_RETURN(fs::path target, folder_target(path));
  NEUROSHARD_RETURN_IF_ERROR(check_free(path, target));
  const fs::path place = place_of(target);
  remove_stale_folders(place);
  const std::string prefix = std::string(kFolderPrefix) + std::to_string(::getpid()) + "-";
  for (int number = 0; number < kNames; ++number) {
    fs::path hidden = place / (prefix + std::to_string(number) + std::string(kFolderSuffix));
    std::error_code error;
    if (!fs::create_directory(hidden, error)) {
      if (error) return cannot_write(path, error.message());
      continue;
    }
    Descriptor lock = open_folder(hidden);
    lock_alone(lock);  // a file system without locks has nobody see it as stale, either
    return NewFolder(path, std::move(target), std::move(hidden), std::move(lock));
  }
  return cannot_write(path, "no name for a temporary folder is free");
}

Status NewFolder::append(std::string_view name, std::string_view bytes) {
  if (name != name_) {
    NEUROSHARD_RETURN_IF_ERROR(end_file());
    const fs::path path = hidden_ / name;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error) return cannot_write(path_, error.message());
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    file_ = Descriptor(::open(path.c_str(), kFlags, 0666));
    if (!file_.is_open()) return cannot_write(path_, last_error());
    name_ = name;
  }
  return write_all(file_.get(), bytes) ? Status() : cannot_write(path_, last_error());
}

Status NewFolder::end_file() {
  if (!file_.is_open()) return {};
  if (::fsync(file_.get()) == 0 && file_.close()) return {};
  return cannot_write(path_, last_error());
}

Status NewFolder::complete() {
  NEUROSHARD_RETURN_IF_ERROR(end_file());
  std::error_code ignored;
  for (const fs::path& entry : entries_of(hidden_, ignored)) {
    if (!fs::is_directory(entry, ignored)) continue;
    if (!sync_directory(entry.string())) return cannot_write(path_, last_error());
  }
  if (!sync_directory(hidden_.string())) return cannot_write(path_, last_error());
  if (hidden_.parent_path() == target_) {
    NEUROSHARD_RETURN_IF_ERROR(move_files());
  } else if (::rename(hidden_.c_str(), target_.c_str()) != 0) {
    return cannot_write(path_, last_error());
  }
  const fs::path place = hidden_.parent_path();
  hidden_.clear();
  return sync_directory(place.string()) ? Status() : cannot_write(path_, last_error());
}

Status NewFolder::move_files() {
  std::error_code error;
  for (const fs::path& file : entries_of(hidden_, error)) {
    fs::rename(file, target_ / file.filename(), error);
    if (error) break;
  }
  if (!error) fs::remove(hidden_, error);
  return error ? cannot_write(path_, error.message()) : Status();
}

}  // namespace neuroshard::io
