#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "candidate/scope.h"
#include "task/check.h"

namespace kp {
namespace {

// a: bf16, 128 x 64; t: the same transposed (64 x 128 with strides 1, 64); odd: f32, 8 x 1001;
// v: f32, 6 dimensions; z: complex.
Scope scope() {
  Task task;
  auto add = [&](const char* name, DType dtype, std::vector<std::int64_t> shape,
                 std::vector<std::int64_t> strides) {
    TensorSpec t;
    t.name = name;
    t.dtype = dtype;
    t.shape = std::move(shape);
    t.strides = strides.empty() ? dense_strides(t.shape) : std::move(strides);
    task.tensors.push_back(std::move(t));
  };
  add("a", DType::bf16, {128, 64}, {});
  add("t", DType::bf16, {64, 128}, {1, 64});
  add("odd", DType::f32, {8, 1001}, {});
  add("v", DType::f32, {2, 2, 2, 2, 2, 4}, {});
  add("z", DType::c64, {8, 8}, {});
  add("n", DType::i32, {8, 8}, {});
  task.sizes = {{"BM", 64}};
  return scope_of(task, false);
}

Result<ResolvedTensorMap> map(const std::string& text) {
  auto plan =
      parse_plan(Json::parse(fmt::format(
                     R"({{"tensor_maps": {{"m": {}}}, "steps": [{{"memset": "y"}}]}})", text)),
                 "plan");
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return resolve_tensor_map(plan->tensor_maps.at(0), scope());
}

std::string message(const std::string& text) {
  auto out = map(text);
  EXPECT_FALSE(out.has_value()) << text;
  return out ? "" : out.error().message;
}

TEST(TensorMap, ShapeOfTheTensorInnermostFirst) {
  auto out = map(R"({"tensor": "a", "box": [64, "BM"], "swizzle": "128B"})");
  ASSERT_TRUE(out.has_value()) << out.error().text();
  EXPECT_EQ(out->dims, (std::vector<std::uint64_t>{64, 128}));
  EXPECT_EQ(out->stride_bytes, std::vector<std::uint64_t>{128});
  EXPECT_EQ(out->box, (std::vector<std::uint32_t>{64, 64}));
}

TEST(TensorMap, OwnDimsAndStrides) {
  auto view = map(R"({"tensor": "a", "dims": [8, 128, 8], "strides": [64, 8], "box": [8, 64, 8]})");
  ASSERT_TRUE(view.has_value()) << view.error().text();
  EXPECT_EQ(view->stride_bytes, (std::vector<std::uint64_t>{128, 16}));
  auto dense = map(R"({"tensor": "a", "dims": [8, 8, 128], "box": [8, 8, 1]})");
  ASSERT_TRUE(dense.has_value()) << dense.error().text();
  EXPECT_EQ(dense->stride_bytes, (std::vector<std::uint64_t>{16, 128}));
  auto part = map(R"({"tensor": "a", "dims": [32, 100], "box": [32, 10]})");
  ASSERT_TRUE(part.has_value()) << part.error().text();
  EXPECT_EQ(part->stride_bytes, std::vector<std::uint64_t>{128});  // the tensor's own rows
  auto flat = map(R"({"tensor": "a", "dims": [8192], "box": [256]})");
  ASSERT_TRUE(flat.has_value()) << flat.error().text();
  EXPECT_TRUE(flat->stride_bytes.empty());
}

TEST(TensorMap, TransposedTensorsNeedTheirOwnOrder) {
  EXPECT_EQ(message(R"({"tensor": "t", "box": [64, 64]})"),
            "tensor map m: the innermost dimension of t has stride 64, not 1");
  EXPECT_EQ(message(R"({"tensor": "t", "dims": [64, 8, 16], "box": [64, 8, 1]})"),
            "tensor map m: t is not contiguous, so other dims need \"strides\"");
  EXPECT_TRUE(map(R"({"tensor": "t", "dims": [64, 128], "strides": [64], "box": [64, 64]})"));
}

TEST(TensorMap, RulesOfCuda) {
  EXPECT_EQ(message(R"({"tensor": "a", "box": [64, 257]})"),
            "tensor map m: box[1]: 257 is outside 1 to 256");
  EXPECT_EQ(message(R"({"tensor": "a", "box": [64, 0]})"),
            "tensor map m: box[1]: 0 is outside 1 to 256");
  EXPECT_EQ(message(R"({"tensor": "a", "box": [4, 64]})"),
            "tensor map m: the box's inner extent is 4 x 2 bytes = 8, not a multiple of 16");
  EXPECT_EQ(message(R"({"tensor": "a", "box": [64, 64], "swizzle": "64B"})"),
            "tensor map m: the box's inner extent of 128 bytes is wider than swizzle 64B");
  EXPECT_EQ(message(R"({"tensor": "a", "box": [64]})"),
            "tensor map m: box has 1 extents, the map has 2 dimensions");
  EXPECT_EQ(message(R"({"tensor": "odd", "box": [4, 8]})"),
            "tensor map m: the stride of dims[1] is 1001 elements of 4 bytes; strides must be "
            "multiples of 16 bytes below 2^40");
  EXPECT_EQ(message(R"({"tensor": "v", "box": [4, 2, 2, 2, 2]})"),
            "tensor map m: 6 dimensions, a tensor map has 1 to 5");
  EXPECT_EQ(message(R"({"tensor": "z", "box": [8, 8]})"),
            "tensor map m: tensor maps cannot hold c64");
  EXPECT_EQ(message(R"({"tensor": "n", "box": [8, 8], "nan_fill": true})"),
            "tensor map m: nan_fill is for floating types, not i32");
  EXPECT_EQ(message(R"({"tensor": "a", "box": [8, 8], "interleave": "16B"})"),
            "tensor map m: interleave needs at least 3 dimensions");
  EXPECT_EQ(message(R"({"tensor": "a", "dims": [16, 4, 128], "box": [16, 4, 8],
                        "interleave": "32B"})"),
            "tensor map m: interleave 32B needs swizzle 32B");
}

TEST(TensorMap, StaysInsideItsTensor) {
  EXPECT_EQ(message(R"({"tensor": "a", "dims": [64, 129], "strides": [64], "box": [8, 8]})"),
            "tensor map m: dims and strides reach byte 16512 of a, which has 16384 bytes");
  EXPECT_EQ(message(R"({"tensor": "a", "dims": [64, 128], "strides": [1099511627775],
                        "box": [8, 8]})"),
            "tensor map m: the stride of dims[1] is 1099511627775 elements of 2 bytes; strides "
            "must be multiples of 16 bytes below 2^40");
  EXPECT_EQ(message(R"({"tensor": "a", "dims": [64, 128], "strides": [64, 64], "box": [8, 8]})"),
            "tensor map m: 2 strides for 2 dimensions, expected 1");
  EXPECT_EQ(message(R"({"tensor": "aa", "box": [8, 8]})"),
            "tensor map m: no tensor or buffer \"aa\" (did you mean \"a\"?)");
}

}  // namespace
}  // namespace kp
