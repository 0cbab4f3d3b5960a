#pragma once

#include <string>
#include <string_view>

#include "engine/core/dense_model.h"
#include "engine/core/status.h"

namespace neuroshard::io {

/// Reads `neuroshard-model` version 1, a model's dense part. `bucket_mb` is 25 where it is not
/// there, `cuda_graph` false. Errors: kInvalidInput naming source and JSON path.
Result<DenseModel> parse_dense_model(std::string_view bytes, const std::string& source);
/// A model and the sha256 of the file's bytes.
struct DenseModelFile {
  DenseModel model;
  std::string sha256;
};
/// The same from a file, or standard input for "-".
Result<DenseModelFile> read_dense_model(const std::string& path);

/// The text that parse_dense_model() reads.
std::string format_dense_model(const DenseModel& model);

}  // namespace neuroshard::io
