#pragma once

#include <string>

namespace neuroshard {

// Numbers for people, the same in every program: printf() would write the decimal comma of a locale
// that the program has set.

/// printf("%.*f"): `decimals` digits behind the point.
std::string fixed_decimals(double value, int decimals);

/// printf("%.*g"): at most `digits` digits, with an exponent where that is shorter.
std::string general_decimals(double value, int digits);

}  // namespace neuroshard
