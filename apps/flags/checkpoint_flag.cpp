#include "apps/flags/checkpoint_flag.h"

#include <filesystem>
#include <system_error>

#include "apps/console/output.h"
#include "apps/console/words.h"
#include "io/file.h"
#include "io/text.h"

namespace neuroshard::apps {

void CheckpointFlag::declare(FlagSet& flags) {
  flags
      .text(
          "checkpoint", "FILE",
          "where the training stands in the end, with --joint the plans measured, too; if there is "
          "such a file, it goes on from there",
          &path_)
      .writes();
}

Result<std::optional<std::string>> CheckpointFlag::read() const {
  std::optional<std::string> bytes;
  std::error_code unknown;
  if (path_ == "-") {
    return invalid_input(
        "--checkpoint: found '-', expected a file, from which the training goes on");
  }
  if (!path_ || !std::filesystem::exists(*path_, unknown)) return bytes;
  // What reads a pipe waits until somebody writes.
  if (!std::filesystem::is_regular_file(*path_, unknown)) {
    return invalid_input("--checkpoint: " + *path_ + ": found no regular file, expected one");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(bytes, io::read_safetensors_file(*path_));
  return bytes;
}

void CheckpointFlag::note_resumed(const std::string& after) const {
  print_note("goes on from " + io::printable(*path_) + ", after " + after);
}

Status CheckpointFlag::keep(const Status& training, const std::string& bytes) const {
  const bool interrupted = training.code() == StatusCode::kCancelled;
  if (!training.ok() && !interrupted) return training;
  const bool kept = path_ && !bytes.empty();
  if (kept && std::ssize(bytes) > io::kMaxTensorFileBytes) {
    print_note("--checkpoint: not written, found " + with_commas(std::ssize(bytes)) +
               " bytes, expected at most " + with_commas(io::kMaxTensorFileBytes));
  } else if (kept) {
    NEUROSHARD_RETURN_IF_ERROR(io::write_file_atomically(*path_, bytes));
  }
  if (!interrupted) return {};
  return cancelled("interrupted, no policy written" +
                   (kept ? "; the same command goes on from " + io::printable(*path_) : ""));
}

}  // namespace neuroshard::apps
