#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/status.h"

namespace neuroshard::io {

/// A dense float32 array, row-major. `values` has the product of `shape` elements (1 for {}).
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

/// The content of a safetensors file.
struct TensorFile {
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;
  friend bool operator==(const TensorFile&, const TensorFile&) = default;
};

/// Limits against hostile files.
inline constexpr std::int64_t kMaxTensorHeaderBytes = std::int64_t{16} << 20;
inline constexpr std::size_t kMaxTensorRank = 8;

/// Reads the safetensors format (8-byte little-endian header length, JSON header, data). F32 only.
/// Tensors must tile the data from 0 to its end: no holes, no overlaps, offsets that match the
/// shape. NaN and infinite values are refused. Errors: kInvalidInput naming source and, where there
/// is one, the tensor.
Result<TensorFile> parse_safetensors(std::string_view bytes, const std::string& source);

/// What of its errors parse_safetensors() would give for any file that begins with `block`.
Status check_safetensors_start(std::string_view block, const std::string& source);

/// The same bytes for the same value: metadata and tensors in the order of their names, header
/// padded with blanks to a multiple of 8. REQUIRES values.size() == product of shape. Readable by
/// the Python package `safetensors`.
std::string format_safetensors(const TensorFile& file);

}  // namespace neuroshard::io
