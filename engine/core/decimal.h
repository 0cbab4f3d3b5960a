#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace neuroshard {

// Numbers for people, the same in every program: printf() would write the decimal comma of a locale
// that the program has set.

/// printf("%.*f"): `decimals` digits behind the point.
std::string fixed_decimals(double value, int decimals);

/// printf("%.*g"): at most `digits` digits, with an exponent where that is shorter.
std::string general_decimals(double value, int digits);

/// "1 row", "2 rows".
std::string counted(std::int64_t count, std::string_view what);

}  // namespace neuroshard
