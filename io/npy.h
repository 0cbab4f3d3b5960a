#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/status.h"

namespace neuroshard::io {

/// What the header of a NumPy array file (.npy, versions 1 to 3) says.
struct NpyHeader {
  int item_bytes = 0;  ///< 4 or 8: little-endian signed integers, the only type taken
  std::vector<std::int64_t> shape;
  std::int64_t data_offset = 0;  ///< bytes before the first item

  [[nodiscard]] std::int64_t items() const;
};

/// Reads the header at the start of `bytes`, which may end anywhere behind it. Errors:
/// kInvalidInput naming the source: not such a file, another type, Fortran order, a shape with
/// negative or too many items.
Result<NpyHeader> parse_npy_header(std::string_view bytes, const std::string& source);

/// What an array file of int64 items begins with: they follow it, in C order and little-endian.
/// REQUIRES one or two lengths.
std::string format_npy_header(std::span<const std::int64_t> shape);

/// A one- or two-dimensional integer array on disk, read in pieces: never more in memory than asked
/// for. Move-only; reads at given places are thread-safe.
class NpyFile {
 public:
  /// Errors: kInvalidInput naming the path: missing, unreadable, malformed, or not as long as its
  /// shape says.
  static Result<NpyFile> open(const std::string& path);
  NpyFile(NpyFile&& other) noexcept;
  NpyFile& operator=(NpyFile&&) = delete;
  ~NpyFile();

  [[nodiscard]] const NpyHeader& header() const { return header_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::int64_t items() const { return header_.items(); }

  /// Fills `values` with the items from `first` on. REQUIRES first + values.size() <= items().
  /// `scratch` is this thread's buffer. Error: kIoError.
  Status read(std::int64_t first, std::span<std::int64_t> values,
              std::vector<std::int32_t>& scratch) const;

 private:
  NpyFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_ = -1;
  NpyHeader header_;
};

}  // namespace neuroshard::io
