#include "verdict/host_tensor.h"

#include <gtest/gtest.h>

#include <numeric>

namespace kp {
namespace {

TensorSpec tensor(std::string name, std::int64_t n, ValueRange values, DType type = DType::f32) {
  TensorSpec t;
  t.name = std::move(name);
  t.shape = {n};
  t.strides = {1};
  t.dtype = type;
  t.values = values;
  return t;
}

TEST(HostTensor, DrawsDependOnSeedNameAndIndexAlone) {
  ValueRange range{ValueRange::Kind::uniform, -1, 1};
  auto a = draw_values(tensor("a", 200000, range), 7);
  auto shorter = draw_values(tensor("a", 100, range), 7);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), a.begin()));
  EXPECT_NE(a, draw_values(tensor("a", 200000, range), 8));
  EXPECT_NE(a, draw_values(tensor("b", 200000, range), 7));
  double mean = std::accumulate(a.begin(), a.end(), 0.0) / 200000;
  EXPECT_NEAR(mean, 0, 0.01);
  EXPECT_GE(*std::min_element(a.begin(), a.end()), -1);
  EXPECT_LT(*std::max_element(a.begin(), a.end()), 1);
}

TEST(HostTensor, NormalHasItsMoments) {
  auto v = draw_values(tensor("n", 100000, {ValueRange::Kind::normal, 3, 2}), 1);
  double mean = std::accumulate(v.begin(), v.end(), 0.0) / 1e5;
  double square = 0;
  for (double x : v) square += (x - mean) * (x - mean);
  EXPECT_NEAR(mean, 3, 0.05);
  EXPECT_NEAR(square / 1e5, 4, 0.1);
}

TEST(HostTensor, EncodingRoundsToTheType) {
  std::vector<double> values = {0, 1, -2.5, 100};
  for (DType type : {DType::f64, DType::f32, DType::f16, DType::bf16})
    EXPECT_EQ(decode(encode(values, type), type), values);
  EXPECT_EQ(decode(encode({1.1}, DType::f32), DType::f32)[0], static_cast<double>(1.1F));
  EXPECT_EQ(decode(encode({-3, 7}, DType::i32), DType::i32), (std::vector<double>{-3, 7}));
}

}  // namespace
}  // namespace kp
