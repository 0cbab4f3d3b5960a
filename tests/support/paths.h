#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace neuroshard::test {

/// A file of the optional data folder (the 856 DLRM tables, reference models, third-party costs),
/// or nothing when the folder is not there: NEUROSHARD_TEST_DATA, else ../shared/data beside the
/// source.
inline std::optional<std::string> data_file(const std::string& relative) {
  const char* folder = std::getenv("NEUROSHARD_TEST_DATA");
  const std::filesystem::path root =
      folder != nullptr ? std::filesystem::path(folder)
                        : std::filesystem::path(NEUROSHARD_SOURCE_DIR) / ".." / "shared" / "data";
  const std::filesystem::path file = root / relative;
  if (!std::filesystem::exists(file)) return std::nullopt;
  return file.lexically_normal().string();
}

}  // namespace neuroshard::test
