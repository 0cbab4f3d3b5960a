#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/core/status.h"

namespace neuroshard {

/// Bytes in "4GiB", "80GB", "512MiB", "1.5TiB", "1024" or "1024B". Binary and decimal units are
/// told apart (GiB = 2^30, GB = 10^9). Errors: empty, negative, not a number, unknown unit, above
/// 2^63-1.
Result<std::int64_t> parse_bytes(std::string_view text);

/// `bytes` times a factor, rounded down; 2^63-1 where that is less. REQUIRES neither below 0.
std::int64_t scaled_bytes(std::int64_t bytes, double factor);

/// "97.4 GiB": three significant digits in binary units, for people.
std::string format_bytes(std::int64_t bytes);

/// The same, but "64000 B" when `other`, another number, would read alike.
std::string format_bytes_apart(std::int64_t bytes, std::int64_t other);

/// "5.98GiB": the smallest size of at most two decimals that is not below `bytes`, in the form
/// parse_bytes() reads: what to tell people who have to raise a limit. REQUIRES bytes >= 0.
std::string format_bytes_at_least(std::int64_t bytes);

}  // namespace neuroshard
