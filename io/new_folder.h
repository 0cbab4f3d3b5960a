#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/core/status.h"

namespace neuroshard::io {

/// A folder of files that is there when it is complete, and not before: it is filled beside its
/// place under another name. Use from one thread at a time.
class NewFolder {
 public:
  /// Opens one that is to be at `path`, where there is nothing yet, or an empty folder. Errors:
  /// kInvalidInput where there is something else, kIoError, naming the path.
  static Result<NewFolder> open(const std::string& path);
  NewFolder(NewFolder&& other) noexcept;
  NewFolder& operator=(NewFolder&&) = delete;
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  /// Removes what is not complete.
  ~NewFolder();

  /// A file in it, of that name. Errors: kIoError.
  Status add(std::string_view name, std::string_view bytes);
  /// Gives it its name, durably. Errors: kIoError.
  Status complete();

 private:
  NewFolder(std::string path, std::filesystem::path target, std::filesystem::path own);

  std::string path_;  ///< as messages say it
  std::filesystem::path target_;
  std::filesystem::path own_;  ///< until it is complete; empty then
};

}  // namespace neuroshard::io
