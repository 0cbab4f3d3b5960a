#pragma once

// fp16 as the real header has it, numbers only: no infinities.

#include <cmath>

struct __half_raw {
  unsigned short x;
};

struct __half {
  __half() = default;
  explicit __half(__half_raw raw) : bits(raw.x) {}
  explicit __half(float value);
  operator __half_raw() const { return {bits}; }
  unsigned short bits;
};

inline float __half2float(__half half) {
  const int exponent = half.bits >> 10 & 31;
  const int fraction = half.bits & 1023;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                   : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return (half.bits & 0x8000) != 0 ? -size : size;
}

inline __half __float2half_rn(float value) {
  const bool negative = std::signbit(value);
  const float size = std::fabs(value);
  // Units of the last place of the half: 2^-24 below 2^-14, then 2^10 of them to a binade.
  const int exponent = size < 0x1p-14F ? -14 : std::ilogb(size);
  const auto units = static_cast<unsigned>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  const unsigned bits = static_cast<unsigned>(exponent + 14) * 1024U + units;
  return __half(__half_raw{static_cast<unsigned short>(bits | (negative ? 0x8000U : 0U))});
}

inline __half::__half(float value) : __half(__float2half_rn(value)) {}
