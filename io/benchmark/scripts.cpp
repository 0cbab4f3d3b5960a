#include "io/benchmark/scripts.h"

#include <algorithm>
#include <span>
#include <string>

#include "engine/core/embedded_file.h"

namespace neuroshard {

/// Generated from io/benchmark/*.py (cmake/neuroshard_embed.cmake).
std::span<const EmbeddedFile> embedded_benchmark();

namespace io {

Status write_scripts(std::initializer_list<std::string_view> names, const FolderSink& sink) {
  const std::span<const EmbeddedFile> all = embedded_benchmark();
  for (const std::string_view name : names) {
    const auto file = std::find_if(all.begin(), all.end(),
                                   [&](const EmbeddedFile& each) { return each.name == name; });
    const std::string path = std::string(name) + ".py";
    if (file == all.end()) return internal_error("benchmark: there is no " + path);
    NEUROSHARD_RETURN_IF_ERROR(sink(path, file->bytes));
  }
  return {};
}

}  // namespace io
}  // namespace neuroshard
