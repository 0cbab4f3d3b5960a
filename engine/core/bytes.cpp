#include "engine/core/bytes.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "engine/core/decimal.h"

namespace neuroshard {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr std::array kUnits{
    Unit{"", 1},         Unit{"B", 1},        Unit{"KB", 1e3},     Unit{"MB", 1e6},
    Unit{"GB", 1e9},     Unit{"TB", 1e12},    Unit{"PB", 1e15},    Unit{"KiB", 0x1p10},
    Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}, Unit{"PiB", 0x1p50},
};

/// Whole numbers of units, which a double may round; nothing for fractions and more than 2^63 - 1.
std::optional<std::int64_t> exact_bytes(std::string_view text, const Unit& unit) {
  text.remove_suffix(unit.name.size());
  std::int64_t number = 0;
  std::int64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (__builtin_mul_overflow(number, static_cast<std::int64_t>(unit.bytes), &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

}  // namespace

Result<std::int64_t> parse_bytes(std::string_view text) {
  const std::string expected = "expected a size such as 4GiB, 80GB or 1073741824";
  const std::string found = "'" + std::string(text) + "'";
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number)) return invalid_input(found + ": " + expected);
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Unit& unit : kUnits) {
    if (unit.name != suffix) continue;
    const double bytes = number * unit.bytes;
    if (std::signbit(number)) return invalid_input(found + " is negative: " + expected);
    if (const std::optional<std::int64_t> exact = exact_bytes(text, unit)) return *exact;
    if (bytes >= 0x1p63) return invalid_input(found + " is above 2^63 - 1 bytes");
    return static_cast<std::int64_t>(bytes);
  }
  return invalid_input(found + " has an unknown unit: " + expected);
}

std::int64_t scaled_bytes(std::int64_t bytes, double factor) {
  const double scaled = factor * static_cast<double>(bytes);
  if (scaled >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(scaled);
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<const char*, 6> names{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::abs(value) >= 1023.5 && unit + 1 < names.size()) {
    value /= 1024;
    ++unit;
  }
  const int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fixed_decimals(value, decimals) + " " + names[unit];
}

std::string format_bytes_apart(std::int64_t bytes, std::int64_t other) {
  std::string text = format_bytes(bytes);
  const bool alike = bytes != other && text == format_bytes(other);
  return alike ? std::to_string(bytes) + " B" : text;
}

std::string format_bytes_at_least(std::int64_t bytes) {
  constexpr std::array<const char*, 6> names{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (unit + 1 < names.size() && (bytes >> (10 * (unit + 1))) > 0) ++unit;
  const std::int64_t size = std::int64_t{1} << (10 * unit);
  std::int64_t whole = bytes / size;
  std::int64_t hundredths = (bytes % size * 100 + size - 1) / size;  // below 100 * 2^50
  if (hundredths >= 100) {
    hundredths -= 100;
    ++whole;
  }
  char buffer[32];
  if (hundredths == 0) {
    std::snprintf(buffer, sizeof buffer, "%lld%s", static_cast<long long>(whole), names[unit]);
  } else {
    std::snprintf(buffer, sizeof buffer, "%lld.%02lld%s", static_cast<long long>(whole),
                  static_cast<long long>(hundredths), names[unit]);
  }
  return buffer;
}

}  // namespace neuroshard
