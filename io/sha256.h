#pragma once

#include <string>
#include <string_view>

namespace neuroshard::io {

/// SHA-256 of `bytes` (FIPS 180-4) as 64 lower-case hexadecimal digits. Thread-safe.
std::string sha256_hex(std::string_view bytes);

}  // namespace neuroshard::io
