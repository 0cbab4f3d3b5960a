#pragma once

#include <optional>
#include <string>

#include "apps/flags/flags.h"
#include "engine/core/status.h"

namespace neuroshard::apps {

/// --checkpoint: the file that has where a training stands, from one run of a command to the next.
class CheckpointFlag {
 public:
  void declare(FlagSet& flags);

  /// Nothing without the flag.
  [[nodiscard]] const std::optional<std::string>& path() const { return path_; }
  /// What the run before has left; nothing where there is no such file yet. Errors: that the flag
  /// names no file; as io::read_safetensors_file().
  [[nodiscard]] Result<std::optional<std::string>> read() const;
  /// Says from where the training goes on, "after" that much.
  void note_resumed(const std::string& after) const;

  /// How a training ended, with `bytes` as where it stands; "": nowhere yet. They are kept unless
  /// the training failed. Errors: that of the training, which says what there is to go on from;
  /// that of writing.
  [[nodiscard]] Status keep(const Status& training, const std::string& bytes) const;

 private:
  std::optional<std::string> path_;
};

}  // namespace neuroshard::apps
