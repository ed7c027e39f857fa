#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kp {
namespace {

TEST(Half, KnownValues) {
  EXPECT_EQ(to_f16(1.0), 0x3c00);
  EXPECT_EQ(to_f16(-2.0), 0xc000);
  EXPECT_EQ(to_f16(65504), 0x7bff);
  EXPECT_EQ(to_f16(65520), 0x7c00);
  EXPECT_EQ(to_f16(0x1p-24), 0x0001);
  EXPECT_EQ(to_f16(0x1p-26), 0x0000);
  EXPECT_EQ(to_f16(1 + 0x1p-11), 0x3c00);  // a tie goes to even
  EXPECT_EQ(to_bf16(1.0), 0x3f80);
  EXPECT_EQ(to_bf16(1 + 0x1p-8), 0x3f80);
  EXPECT_TRUE(std::isnan(from_f16(to_f16(NAN))));
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(NAN))));
}

TEST(Half, EveryPatternSurvivesTheRoundTrip) {
  for (unsigned b = 0; b < 0x10000; ++b) {
    auto bits = static_cast<std::uint16_t>(b);
    if (!std::isnan(from_f16(bits))) {
      EXPECT_EQ(to_f16(from_f16(bits)), bits) << b;
    }
    if (!std::isnan(from_bf16(bits))) {
      EXPECT_EQ(to_bf16(from_bf16(bits)), bits) << b;
    }
  }
}

}  // namespace
}  // namespace kp
