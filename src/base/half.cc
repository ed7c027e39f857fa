#include "base/half.h"

#include <bit>
#include <cmath>
#include <limits>

namespace kp {

std::uint16_t to_f16(double value) {
  auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  double a = std::abs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00);
  if (a >= 65520.0) return static_cast<std::uint16_t>(sign | 0x7c00);  // rounds past 65504
  if (a == 0) return sign;
  int exponent = std::max(std::ilogb(a), -14);
  // Units of the last place: 10 fraction bits below the exponent. nearbyint rounds ties to even.
  auto units = static_cast<std::uint32_t>(std::nearbyint(std::scalbn(a, 10 - exponent)));
  // A subnormal has units < 1024 and the lowest exponent; carries run into the exponent by
  // addition.
  std::uint32_t bits =
      units < 1024 ? units : ((static_cast<std::uint32_t>(exponent + 15) << 10) + (units - 1024));
  return static_cast<std::uint16_t>(sign | bits);
}

double from_f16(std::uint16_t bits) {
  int exponent = bits >> 10 & 31;
  int fraction = bits & 1023;
  double a = 0;
  if (exponent == 31) {
    a = fraction == 0 ? std::numeric_limits<double>::infinity()
                      : std::numeric_limits<double>::quiet_NaN();
  } else {
    a = exponent == 0 ? std::scalbn(fraction, -24) : std::scalbn(1024 + fraction, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -a : a;
}

std::uint16_t to_bf16(double value) {
  auto wide = static_cast<float>(value);
  auto bits = std::bit_cast<std::uint32_t>(wide);
  if (std::isnan(wide)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  // An inexact float is made odd, truncated: the second rounding below then sees on which side of a
  // tie the value lies.
  if (std::isfinite(value) && static_cast<double>(wide) != value) {
    if (std::abs(static_cast<double>(wide)) > std::abs(value)) --bits;
    bits |= 1;
  }
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double from_bf16(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

}  // namespace kp
