#pragma once

#include <span>
#include <string>

namespace neuroshard {

/// "'a', 'b' or 'c'", as messages say what they expected: the to_string() of each value.
template <typename Value>
std::string quoted_choices(std::span<const Value> values) {
  std::string text;
  for (const Value& value : values) {
    if (!text.empty()) text += &value == &values.back() ? " or " : ", ";
    text += "'" + std::string(to_string(value)) + "'";
  }
  return text;
}

}  // namespace neuroshard
