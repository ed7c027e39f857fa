#include "task/dtype.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace kp {
namespace {

TEST(DType, NamesRoundTripAndSizesAgreeWithNames) {
  for (DType type :
       {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2, DType::i64,
        DType::i32, DType::i16, DType::i8, DType::u8, DType::b8, DType::c64, DType::c128}) {
    auto back = parse_dtype(name_of(type));
    ASSERT_TRUE(back.has_value()) << name_of(type);
    EXPECT_EQ(*back, type);
    EXPECT_FALSE(cuda_name(type).empty());
  }
  EXPECT_EQ(size_of(DType::bf16), 2U);
  EXPECT_EQ(size_of(DType::c128), 16U);
  EXPECT_EQ(size_of(DType::b8), 1U);
  EXPECT_EQ(cuda_name(DType::bf16), "__nv_bfloat16");
}

TEST(DType, UnknownNameListsTheKnownOnes) {
  auto type = parse_dtype("float32");
  ASSERT_FALSE(type.has_value());
  EXPECT_EQ(type.error().message, "unknown element type \"float32\"");
  EXPECT_TRUE(contains(type.error().hint, "f32, f16, bf16"));
}

TEST(DType, Floating) {
  EXPECT_TRUE(is_floating(DType::f8e4m3));
  EXPECT_FALSE(is_floating(DType::i8));
  EXPECT_FALSE(is_floating(DType::c64));
}

}  // namespace
}  // namespace kp
