#pragma once

#include <string_view>

namespace neuroshard {

/// A data file linked into the library at build time (cmake/neuroshard_embed.cmake).
struct EmbeddedFile {
  std::string_view name;  ///< file name without its last extension
  std::string_view bytes;
};

}  // namespace neuroshard
