#include "verdict/variant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace kp {
namespace {

TEST(Variants, NamesAreRead) {
  for (Variant v : {Variant::own, Variant::signs, Variant::scaled})
    EXPECT_EQ(parse_variant(name_of(v)).value(), v);
  EXPECT_FALSE(parse_variant("upside down"));
}

TEST(Variants, SignsKeepMagnitudesZerosAndEqualValues) {
  std::vector<double> own;
  for (int i = 0; i < 20000; ++i) own.push_back(i % 5 == 0 ? 0.0 : 0.25 * (i % 1000));
  std::vector<double> varied = own;
  vary(varied, DType::f32, Variant::signs, 7);
  int negative = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_EQ(std::abs(varied[i]), own[i]);
    EXPECT_EQ(varied[i], varied[i % 1000]);  // own is periodic
    negative += varied[i] < 0 ? 1 : 0;
    EXPECT_FALSE(own[i] == 0 && std::signbit(varied[i]));
  }
  EXPECT_NEAR(negative / 16000.0, 0.5, 0.06);
  std::vector<double> other = own;
  vary(other, DType::f32, Variant::signs, 8);
  EXPECT_NE(varied, other);
  // x and -x stay opposite, so antisymmetric tensors stay so.
  std::vector<double> pair = {0.75, -0.75};
  vary(pair, DType::f32, Variant::signs, 7);
  EXPECT_EQ(pair[0], -pair[1]);
}

TEST(Variants, ScalesByFourOrAQuarterAndLeavesIntegers) {
  std::set<double> factors;
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    std::vector<double> values = {1, -2};
    vary(values, DType::bf16, Variant::scaled, seed);
    EXPECT_EQ(values[1], -2 * values[0]);
    factors.insert(values[0]);
  }
  EXPECT_EQ(factors, (std::set<double>{0.25, 4}));
  std::vector<double> whole = {1, 2, 3};
  vary(whole, DType::i32, Variant::scaled, 1);
  vary(whole, DType::i32, Variant::signs, 1);
  EXPECT_EQ(whole, (std::vector<double>{1, 2, 3}));
}

TEST(Variants, BorneWhileFiniteAndAboutAsExact) {
  EXPECT_TRUE(bears_variant(DType::f32, true, 1e-7, true, 3e-7));
  EXPECT_FALSE(bears_variant(DType::f32, true, 1e-7, false, 1e-7));
  EXPECT_TRUE(bears_variant(DType::f32, false, 1e-7, false, 1e-7));
  EXPECT_FALSE(bears_variant(DType::f32, true, 1e-7, true, 1e-3));
  EXPECT_FALSE(
      bears_variant(DType::f32, true, 1e-7, true, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_TRUE(bears_variant(DType::i64, true, 0, true, 0.5));
}

}  // namespace
}  // namespace kp
