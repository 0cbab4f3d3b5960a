#pragma once

#include <span>
#include <string>

#include "engine/core/status.h"

namespace neuroshard::apps {

/// A file that a command line names: read by it or written.
struct FileUse {
  std::string flag;  ///< "--output"
  std::string path;  ///< a file, a data directory, "-" or the name of something built in
  std::string kind;  ///< what it holds; what is read may be replaced by the same kind
  bool written = false;
  bool folder = false;  ///< whether what is written may be one, which the command checks itself
};

/// Before any work is done: that no output takes the place of an input of another kind or of
/// another output, that no two flags share standard input or output, and that files can be written
/// where the outputs are to go. Errors: kInvalidInput naming both flags; kIoError naming the path.
Status check_files(std::span<const FileUse> uses);

}  // namespace neuroshard::apps
