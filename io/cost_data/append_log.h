#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "engine/core/status.h"
#include "io/descriptor.h"

namespace neuroshard::io {

/// A text file that only ever grows by whole lines, whatever kills the writer: what `open` finds
/// after the last '\n' is a torn line and is cut off. One writer at a time, held by flock until the
/// object or the process ends. Movable; use from one thread at a time.
class AppendLog {
 public:
  /// Opens or creates `path`, locks it and cuts off a torn last line. Errors: kIoError naming the
  /// path, also when another process (or another AppendLog) holds it or it is no regular file.
  static Result<AppendLog> open(const std::string& path);

  /// Whole lines in the file now: where a resumed collection goes on.
  [[nodiscard]] std::int64_t lines() const { return lines_; }
  /// Bytes of the torn line that `open` cut off, 0 when there was none.
  [[nodiscard]] std::int64_t repaired_bytes() const { return repaired_bytes_; }

  /// Adds `line` and a '\n' with one write: it survives the death of the process. REQUIRES no '\n'
  /// in `line` (kInternal). After an error (kIoError, e.g. a full disk) the file ends with the last
  /// whole line and append may be tried again.
  Status append(std::string_view line);
  /// Brings all lines to the disk, where a crash of the whole machine leaves them. Errors:
  /// kIoError.
  Status sync();

 private:
  AppendLog(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  Status repair();
  [[nodiscard]] Status failed(const std::string& what) const;

  std::string path_;
  Descriptor file_;
  std::int64_t size_ = 0;  ///< bytes up to the last '\n'
  std::int64_t lines_ = 0;
  std::int64_t repaired_bytes_ = 0;
  bool torn_ = false;  ///< a failed append left bytes after size_
};

}  // namespace neuroshard::io
