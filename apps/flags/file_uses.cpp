#include "apps/flags/file_uses.h"

#include <filesystem>
#include <system_error>

#include "io/cost_data/collection.h"
#include "io/file.h"
#include "io/tables/index_directory.h"

namespace neuroshard::apps {
namespace {

namespace fs = std::filesystem;

/// Whether both names lead to one file, which need not exist. Pipes and devices are no such file.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::exists(a, error) && !fs::is_regular_file(a, error)) return false;
  if (fs::equivalent(a, b, error) && !error) return true;
  const fs::path left = fs::weakly_canonical(a, error);
  return !error && left == fs::weakly_canonical(b, error) && !error;
}

/// Whether reading `path` reads `file`, which may be one of those in a directory of data.
bool reads(const std::string& path, const std::string& file) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return same_file(path, file);
  for (const char* name : {io::kDataFile, io::kPoolFile, io::kCollectionFile, io::kIndicesFile,
                           io::kOffsetsFile, io::kLengthsFile}) {
    if (same_file((fs::path(path) / name).string(), file)) return true;
  }
  return false;
}

Status check_pair(const FileUse& output, const FileUse& other) {
  if (other.path == "-") return {};
  if (other.written && same_file(other.path, output.path)) {
    return invalid_input(output.flag + ": found '" + output.path + "', which is " + other.flag +
                         ", too; expected another file");
  }
  const bool replaces = !output.kind.empty() && output.kind == other.kind;
  if (!other.written && !replaces && reads(other.path, output.path)) {
    return invalid_input(output.flag + ": found '" + output.path + "', which " + other.flag +
                         " reads; expected another file");
  }
  return {};
}

/// What its command has to look at.
bool names_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) || !fs::path(path).has_filename();
}

/// There is one standard input and one standard output.
Status check_streams(std::span<const FileUse> uses) {
  for (const bool written : {false, true}) {
    const FileUse* first = nullptr;
    for (const FileUse& use : uses) {
      if (use.path != "-" || use.written != written) continue;
      if (first == nullptr) {
        first = &use;
        continue;
      }
      return invalid_input(use.flag + ": found '-', expected a file while " + first->flag +
                           (written ? " writes to stdout" : " reads stdin"));
    }
  }
  return {};
}

}  // namespace

Status check_files(std::span<const FileUse> uses) {
  NEUROSHARD_RETURN_IF_ERROR(check_streams(uses));
  for (std::size_t k = 0; k < uses.size(); ++k) {
    const FileUse& output = uses[k];
    if (!output.written || output.path == "-") continue;
    for (std::size_t j = 0; j < uses.size(); ++j) {
      if (j != k) NEUROSHARD_RETURN_IF_ERROR(check_pair(output, uses[j]));
    }
    if (output.folder && names_folder(output.path)) continue;
    NEUROSHARD_RETURN_IF_ERROR(io::check_writable(output.path));
  }
  return {};
}

}  // namespace neuroshard::apps
