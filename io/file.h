#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/core/status.h"
#include "io/cost_data/append_log.h"

namespace neuroshard::io {

/// Largest input accepted from a file or a pipe: 2 GiB.
inline constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 31;
/// Largest text: 1 GiB. A million tables are half of that.
inline constexpr std::int64_t kMaxTextBytes = std::int64_t{1} << 30;

/// Largest file of tensors: 256 MiB. Cost models and policies are a few.
inline constexpr std::int64_t kMaxTensorFileBytes = std::int64_t{256} << 20;

/// How messages call the input `path`: itself, or "<stdin>" for "-".
std::string source_name(const std::string& path);
/// A path without its folders, which concern nobody who gets a file.
std::string file_name(const std::string& path);

/// What a file may begin with: gets the first block, of which more may follow, and the name of the
/// source. What it refuses is not read on, as it may come from a device that never ends.
using StartCheck = Status (*)(std::string_view block, const std::string& source);

/// The whole of a file, a pipe or, for "-", standard input. Errors name the path: kInvalidInput for
/// a path that is missing, unreadable or a directory and for more than kMaxFileBytes, kIoError when
/// reading fails midway; those of `check_start`, where there is one. Thread-safe. Memory that runs
/// out is std::bad_alloc, as everywhere.
Result<std::string> read_file(const std::string& path, StartCheck check_start = nullptr);

/// The same for text, at most kMaxTextBytes of it. What no text of ours begins with is refused
/// after the first block.
Result<std::string> read_text_file(const std::string& path);

/// The same for tensors (io/safetensors.h), at most kMaxTensorFileBytes of them.
Result<std::string> read_safetensors_file(const std::string& path);

/// Makes `path` hold exactly `bytes`, or leaves it as it was: a temporary file in its folder,
/// fsync, rename, fsync of the folder. A symbolic link is followed; the mode of an existing file is
/// kept, and at no time can more users read the bytes than in the end. "-", "/dev/stdout",
/// "/dev/fd/N" and special files (pipes, devices) are written in place. Errors: kIoError naming the
/// path, also where only the last fsync fails and the bytes are there; no temporary file is left
/// behind. Thread-safe for different paths. A process killed in between never leaves a torn `path`;
/// where it leaves a hidden ".neuroshard-*.tmp", the next write into the folder removes it.
Status write_file_atomically(const std::string& path, std::string_view bytes);

/// What of its errors write_file_atomically(path) would give before it writes anything: a folder
/// that is not there or may not be written, a directory instead of a file. Thread-safe.
Status check_writable(const std::string& path);

}  // namespace neuroshard::io
