#include "io/new_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "io/descriptor.h"
#include "io/file.h"

namespace neuroshard::io {
namespace {

constexpr int kNames = 1000;  // tried for the folder that is filled

Status cannot_write(const std::string& path, const std::string& why) {
  return io_error(path + ": cannot write: " + why);
}

/// Nothing, or an empty folder.
Status check_free(const std::string& path, const std::filesystem::path& target) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(target, error);
  if (!std::filesystem::exists(status)) return {};
  if (!std::filesystem::is_directory(status)) {
    return invalid_input(path + ": is a file, expected a new or an empty folder");
  }
  if (std::filesystem::is_empty(target, error) && !error) return {};
  if (error) return cannot_write(path, error.message());
  return invalid_input(path + ": has files, expected a new or an empty folder");
}

}  // namespace

NewFolder::NewFolder(std::string path, std::filesystem::path target, std::filesystem::path own)
    : path_(std::move(path)), target_(std::move(target)), own_(std::move(own)) {}

NewFolder::NewFolder(NewFolder&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      own_(std::exchange(other.own_, {})) {}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!own_.empty()) std::filesystem::remove_all(own_, ignored);
}

Result<NewFolder> NewFolder::open(const std::string& path) {
  std::error_code error;
  std::filesystem::path target =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  if (error) return cannot_write(path, error.message());
  if (!target.has_filename()) target = target.parent_path();  // "name/"
  NEUROSHARD_RETURN_IF_ERROR(check_free(path, target));
  const std::string prefix = ".neuroshard-" + std::to_string(::getpid()) + "-";
  for (int number = 0; number < kNames; ++number) {
    std::filesystem::path own = target.parent_path() / (prefix + std::to_string(number) + ".tmp");
    if (std::filesystem::create_directory(own, error)) {
      return NewFolder(path, std::move(target), std::move(own));
    }
    if (error) return cannot_write(path, error.message());
  }
  return cannot_write(path, "no name is free beside it");
}

Status NewFolder::add(std::string_view name, std::string_view bytes) {
  const Status written = write_file_atomically((own_ / name).string(), bytes);
  return written.ok() ? written : written.with_context(path_);
}

Status NewFolder::complete() {
  if (::rename(own_.c_str(), target_.c_str()) != 0) return cannot_write(path_, last_error());
  own_.clear();
  if (!sync_directory(target_.parent_path().string())) return cannot_write(path_, last_error());
  return {};
}

}  // namespace neuroshard::io
