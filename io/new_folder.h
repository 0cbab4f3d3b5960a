#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/core/status.h"
#include "io/descriptor.h"

namespace neuroshard::io {

/// A folder of files, which has them when all are complete and not before: until then they are in a
/// hidden folder. That is beside a new folder, which then takes its name by one rename, and inside
/// an empty one that is there already, into which the files are moved one after another: it keeps
/// its owner and its mode, and may be one that cannot be replaced, as a mounted disk. What a killed
/// process left hidden, the next one that writes there removes. Use from one thread at a time.
class NewFolder {
 public:
  /// Opens one that is to be at `path`, where there is nothing yet, or an empty folder. Errors:
  /// those of check_new_folder().
  static Result<NewFolder> open(const std::string& path);
  NewFolder(NewFolder&& other) noexcept;
  NewFolder& operator=(NewFolder&&) = delete;
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  /// Removes what is not complete.
  ~NewFolder();

  /// More bytes of the file of that name, or FOLDER/NAME in a folder inside. Those of one file come
  /// in a row. Errors: kIoError, also for a file that others came after.
  Status append(std::string_view name, std::string_view bytes);
  /// Gives the files their place, durably. Errors: kIoError.
  Status complete();

 private:
  NewFolder(std::string path, std::filesystem::path target, std::filesystem::path hidden,
            Descriptor lock);

  Status end_file();
  Status move_files();

  std::string path_;  ///< as messages say it
  std::filesystem::path target_;
  std::filesystem::path hidden_;  ///< until it is complete; empty then
  Descriptor lock_;               ///< of the hidden one: its process lives
  std::string name_;              ///< of the file that is open
  Descriptor file_;
};

/// What of its errors NewFolder::open(path) would give before it makes anything: kInvalidInput
/// where there is something else than an empty folder, kIoError where none can be made or filled.
/// Each names the path. Thread-safe.
Status check_new_folder(const std::string& path);

}  // namespace neuroshard::io
