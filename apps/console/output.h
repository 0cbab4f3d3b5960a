#pragma once

#include <string>
#include <string_view>

#include "engine/core/status.h"

namespace neuroshard::apps {

/// Keeps the numbers of standard streams that are closed from files: a note would go into the data.
/// Reading and writing them fails as before. Call once, before any file is opened.
void reserve_standard_streams();

/// Writes all of `text` to standard output. A reader that has gone (`| head`) is no error: the rest
/// is dropped. A full disk and the like are kIoError.
Status print(std::string_view text);

/// A result file: `path` written whole or not at all; "-" is print(). A terminal, which would obey
/// control characters in names of tables, is shown them; files and pipes get every byte.
Status deliver(const std::string& path, std::string_view bytes);

/// One line on standard error: "neuroshard plan: ...". Control characters are escaped.
void print_error(std::string_view context, std::string_view message);
/// A remark that is no result ("resuming at sample 120"), on standard error.
void print_note(std::string_view message);
/// The same; nothing for an empty one.
void note_if_any(std::string_view message);

}  // namespace neuroshard::apps
