#include "engine/core/decimal.h"

#include <array>
#include <charconv>

namespace neuroshard {
namespace {

std::string written(double value, std::chars_format format, int precision) {
  std::array<char, 400> buffer;  // the largest double has 309 digits before the point
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, precision);
  return error == std::errc() ? std::string(buffer.data(), end) : std::string("?");
}

}  // namespace

std::string fixed_decimals(double value, int decimals) {
  return written(value, std::chars_format::fixed, decimals);
}

std::string general_decimals(double value, int digits) {
  return written(value, std::chars_format::general, digits);
}

std::string counted(std::int64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

}  // namespace neuroshard
