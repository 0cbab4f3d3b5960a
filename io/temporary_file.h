#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string_view>

#include "io/descriptor.h"

namespace neuroshard::io {

/// A file that takes the place of another when it is complete, and is gone if it does not. While it
/// lives it is locked, so that what a killed process left can be told from what is being written.
/// Functions that return bool give false with errno set. Use from one thread at a time.
class TemporaryFile {
 public:
  /// Without a name a process that is killed leaves nothing, but not every file system has that.
  enum class Kind { kUnnamed, kNamed };

  /// `mode` is that of the file that will be replaced: until it is complete, nobody else may read
  /// this one. Without, it is new, and what the process gives new files is right from the start.
  TemporaryFile(std::filesystem::path folder, Kind kind, std::optional<mode_t> mode);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  /// Makes it hold `bytes` and have its mode, both on the disk.
  bool fill(std::string_view bytes);
  /// Gives it the name `target`, in its folder. That is durable after sync_directory().
  bool move_to(const std::filesystem::path& target);

 private:
  void open_unnamed(mode_t mode);
  void open_named(mode_t mode);
  bool link();

  std::filesystem::path folder_;
  std::optional<mode_t> mode_;
  std::filesystem::path path_;  ///< empty while it has no name
  Descriptor file_;
};

/// Removes the named ones in `folder` whose process is gone, this user's as far as it can see.
void remove_stale_files(const std::filesystem::path& folder);

}  // namespace neuroshard::io
