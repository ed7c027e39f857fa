#pragma once
// 16-bit floats by hand: g++ 12 has no std::float16_t. Rounding is to nearest, ties to even.
#include <cstdint>

namespace kp {

std::uint16_t to_f16(double value);  // IEEE binary16; overflow gives infinity
double from_f16(std::uint16_t bits);
std::uint16_t to_bf16(double value);  // the upper half of binary32
double from_bf16(std::uint16_t bits);

}  // namespace kp
