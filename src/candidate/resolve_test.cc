#include "candidate/resolve.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/half.h"
#include "base/text.h"
#include "candidate/kernel_name.h"
#include "candidate/scope.h"
#include "task/check.h"

namespace kp {
namespace {

TensorSpec tensor(const char* name, Role role, std::vector<std::int64_t> shape,
                  DType dtype = DType::f32) {
  TensorSpec t;
  t.name = name;
  t.role = role;
  t.dtype = dtype;
  t.shape = std::move(shape);
  t.strides = dense_strides(t.shape);
  return t;
}

// x (8 x 1000) → y (8 x 1000), with a weight and two scalars.
Task row_task() {
  Task task;
  task.kind = TaskKind::native;
  task.tensors = {tensor("x", Role::input, {8, 1000}), tensor("weight", Role::parameter, {1000}),
                  tensor("y", Role::output, {8, 1000})};
  task.sizes = {{"B", 8}, {"N", 1000}, {"K", 3}};
  task.scalars = {{"eps", "eps", false, 1e-5}, {"groups", "groups", false, 4.0}};
  return task;
}

Result<ResolvedPlan> resolved(const std::string& text, const Task& task = row_task(),
                              bool promote = false) {
  auto json = parse_json(text, "test plan");
  EXPECT_TRUE(json.has_value()) << json.error().message;
  auto plan = parse_plan(*json, "plan");
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return resolve(*plan, task, promote);
}

// A plan of one kernel "k" with these arguments (JSON) and these further members.
std::string one_kernel(const std::string& args, const std::string& more = "",
                       const std::string& head = "") {
  return fmt::format(
      R"({{{} "steps": [{{"kernel": "k", "grid": ["B"], "block": [256], {} "args": [{}]}}]}})",
      head, more, args);
}

std::string message(const std::string& plan, const Task& task = row_task()) {
  auto out = resolved(plan, task);
  EXPECT_FALSE(out.has_value()) << plan;
  return out ? "" : out.error().message;
}

template <class T>
T value_of(const ResolvedArg& arg) {
  T value{};
  const auto& bytes = std::get<ValueArg>(arg).bytes;
  EXPECT_EQ(bytes.size(), sizeof(T));
  if (bytes.size() == sizeof(T)) std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// The design's example: a row-wise function in two kernels, with a buffer and a tensor map.
constexpr const char* kExample = R"json({
  "buffers": {"rowmax": {"dtype": "f32", "shape": ["B"]}},
  "tensor_maps": {"tX": {"tensor": "x", "box": [32, 8], "swizzle": "128B"}},
  "steps": [
    {"kernel": "row_max", "grid": ["B", 1, 1], "block": [256, 1, 1],
     "args": ["tX", "rowmax", "i32:N"]},
    {"kernel": "finish", "grid": ["ceil_div(N, 512)", "B", 1], "block": [256, 1, 1],
     "dynamic_smem": 4096, "cluster": [2, 1, 1], "args": ["x", "rowmax", "y", "i32:N", "f32:eps"]}]})json";

TEST(Resolve, ExampleOfTheDesign) {
  auto out = resolved(kExample);
  ASSERT_TRUE(out.has_value()) << out.error().text();
  Json json = to_json(*out);
  EXPECT_EQ(dump_json(json["buffers"]),
            R"([{"name":"rowmax","dtype":"f32","shape":[8],"bytes":32}])");
  EXPECT_EQ(dump_json(json["tensor_maps"]),
            R"([{"name":"tX","tensor":"x","dtype":"f32","dims":[1000,8],"stride_bytes":[4000],)"
            R"("box":[32,8],"swizzle":"128B","l2_promotion":"256B","interleave":"none",)"
            R"("nan_fill":false}])");
  EXPECT_EQ(dump_json(json["steps"][0]),
            R"({"kernel":"row_max","grid":[8,1,1],"block":[256,1,1],"cluster":[1,1,1],)"
            R"("dynamic_smem":0,"cooperative":false,"programmatic_dependent_launch":false,)"
            R"("args":[{"tensor_map":"tX"},{"pointer":"rowmax"},)"
            R"json({"value":"e8030000","text":"i32:N"}],"where":"step 1 (row_max)"})json");
  EXPECT_EQ(dump_json(json["steps"][1]),
            R"({"kernel":"finish","grid":[2,8,1],"block":[256,1,1],"cluster":[2,1,1],)"
            R"("dynamic_smem":4096,"cooperative":false,"programmatic_dependent_launch":false,)"
            R"("args":[{"pointer":"x"},{"pointer":"rowmax"},{"pointer":"y"},)"
            R"({"value":"e8030000","text":"i32:N"},{"value":"acc52737","text":"f32:eps"}],)"
            R"json("where":"step 2 (finish)"})json");
}

TEST(Resolve, JsonRoundTrip) {
  auto out = resolved(R"({"buffers": {"b": {"dtype": "f32", "shape": ["B", "N"]}}, "steps": [
    {"copy": "x", "to": "b"}, {"memset": "y", "value": 7},
    {"kernel": "k", "grid": [1], "block": [1], "cooperative": true, "args": ["b", "y", "f64:0.5"]}]})");
  ASSERT_TRUE(out.has_value()) << out.error().text();
  EXPECT_EQ(std::get<CopyStep>(out->steps[0]).bytes, out->buffers[0].bytes);
  EXPECT_GT(std::get<MemsetStep>(out->steps[1]).bytes, 0);
  for (const ResolvedPlan& plan : {*out, resolved(kExample).value()}) {
    Json json = to_json(plan);
    auto back = resolved_plan_from_json(json);
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(dump_json(to_json(*back)), dump_json(json));
  }
}

TEST(Resolve, BadResolvedJsonIsAnError) {
  Json good = to_json(resolved(kExample).value());
  auto broken = [&](const char* pointer, const Json& value) {
    Json json = good;
    json[Json::json_pointer(pointer)] = value;
    auto back = resolved_plan_from_json(json);
    EXPECT_FALSE(back.has_value()) << pointer;
    return back ? "" : back.error().message;
  };
  EXPECT_EQ(broken("/steps/0/grid", {1, 2}),
            "resolved plan, steps[0]: \"grid\" must hold 3 numbers");
  EXPECT_EQ(broken("/steps/0/block/0", -1),
            "resolved plan, steps[0]: \"block\" holds -1, outside 0 to 4294967295");
  EXPECT_EQ(broken("/steps/0/args/2/value", "xyz"),
            "resolved plan, steps[0]: \"xyz\" is not a value's bytes");
  EXPECT_EQ(broken("/steps/0/args/0", 5), "resolved plan, steps[0]: expected an object");
  EXPECT_EQ(broken("/tensor_maps/0/box", Json::array({32})),
            "resolved plan, tensor_maps[0]: dims, strides and box do not fit together");
  EXPECT_EQ(broken("/buffers/0/dtype", "float"), "unknown element type \"float\"");
  EXPECT_EQ(broken("/buffers", 5), "resolved plan: \"buffers\" must be a list");
  EXPECT_FALSE(resolved_plan_from_json(Json(5)).has_value());
}

TEST(Resolve, TypedValues) {
  auto out = resolved(one_kernel(
      R"("y", "i32:-5", "u32:4294967295", "i64:B*N", "u64:groups", "f32:0.1", "f64:eps",
         "f16:0.1", "bf16:N", "real:2.5f", "f32:-inf", "f32:nan", "i32: groups + 1")"));
  ASSERT_TRUE(out.has_value()) << out.error().text();
  const auto& args = std::get<KernelLaunch>(out->steps[0]).args;
  EXPECT_EQ(value_of<std::int32_t>(args[1]), -5);
  EXPECT_EQ(value_of<std::uint32_t>(args[2]), 4294967295U);
  EXPECT_EQ(value_of<std::int64_t>(args[3]), 8000);
  EXPECT_EQ(value_of<std::uint64_t>(args[4]), 4U);
  EXPECT_EQ(value_of<float>(args[5]), 0.1F);
  EXPECT_EQ(value_of<double>(args[6]), 1e-5);
  EXPECT_EQ(value_of<std::uint16_t>(args[7]), 0x2e66);  // 0.0999755859375
  EXPECT_EQ(value_of<std::uint16_t>(args[8]), 0x447a);  // 1000
  EXPECT_EQ(value_of<float>(args[9]), 2.5F);
  EXPECT_EQ(value_of<float>(args[10]), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(value_of<float>(args[11])));
  EXPECT_EQ(value_of<std::int32_t>(args[12]), 5);
}

TEST(Resolve, HalvesRoundToNearestEven) {
  auto bits = [](const std::string& text) {
    auto out = resolved(one_kernel("\"y\", \"" + text + "\""));
    EXPECT_TRUE(out.has_value()) << out.error().message;
    return value_of<std::uint16_t>(std::get<KernelLaunch>(out->steps[0]).args[1]);
  };
  EXPECT_EQ(bits("f16:2049"), 0x6800);                   // halfway: to even, 2048
  EXPECT_EQ(bits("f16:2051"), 0x6802);                   // halfway: to even, 2052
  EXPECT_EQ(bits("f16:65504"), 0x7bff);                  // the largest
  EXPECT_EQ(bits("f16:5.9604644775390625e-8"), 0x0001);  // the smallest subnormal
  EXPECT_EQ(bits("bf16:257"), 0x4380);                   // halfway: to even, 256
  EXPECT_EQ(bits("bf16:259"), 0x4382);                   // halfway: to even, 260
  EXPECT_EQ(bits("bf16:-1"), 0xbf80);
  // Above halfway by less than a float can hold: rounding twice would give 1.
  EXPECT_EQ(bits("bf16:1.00390625000001"), 0x3f81);
  EXPECT_EQ(bits("bf16:1.00390625"), 0x3f80);
  EXPECT_EQ(bits("bf16:1.01171874999999"), 0x3f81);
}

TEST(Resolve, BadValues) {
  auto bad = [](const std::string& arg) { return message(one_kernel("\"y\", \"" + arg + "\"")); };
  const std::string at = "step 1 (k): argument 2: ";
  EXPECT_EQ(bad("i32:B*N*1000*1000"),
            at + "B*N*1000*1000 = 8000000000 is outside -2147483648 to 2147483647");
  EXPECT_EQ(bad("u32:-1"), at + "-1 is outside 0 to 4294967295");
  EXPECT_EQ(bad("u64:-1"), at + "-1 is outside 0 to 9223372036854775807");
  EXPECT_EQ(bad("i32:eps"), at + "scalar eps is 1e-05, not a whole number");
  EXPECT_EQ(bad("i32:M"), at + "\"M\": unknown name \"M\" (did you mean \"B\"?) (column 1)");
  EXPECT_EQ(bad("f32:1/N"), at + "\"1/N\" is not a number, a scalar or a size of the task");
  EXPECT_EQ(bad("f32:epss"), at + "\"epss\" is not a number, a scalar or a size of the task (did "
                                  "you mean \"eps\"?)");
  EXPECT_EQ(bad("f32:1e39"), at + "1e+39 does not fit f32");
  EXPECT_EQ(bad("f16:65520"), at + "65520 does not fit f16");
  EXPECT_EQ(bad("bf16:3.4e38"), at + "3.4e+38 does not fit bf16");  // the largest is 3.39e38
}

TEST(Resolve, BadArguments) {
  const std::string at = "step 1 (k): argument 1: ";
  auto bad = [](const std::string& arg) { return message(one_kernel("\"" + arg + "\", \"y\"")); };
  EXPECT_EQ(bad("wieght"),
            at + "no tensor, buffer or tensor map \"wieght\" (did you mean \"weight\"?)");
  EXPECT_EQ(bad("out"), at + "no tensor, buffer or tensor map \"out\"");
  EXPECT_EQ(bad("N"), at + "\"N\" is a size and needs a type");
  EXPECT_EQ(bad("eps"), at + "\"eps\" is a scalar and needs a type");
  EXPECT_EQ(bad("int:N"), at + "unknown type \"int\" in \"int:N\"");
  EXPECT_EQ(bad("i32:"), at + "\"i32:\" has no value");
  EXPECT_EQ(bad("f32:x"), at + "\"x\" is a tensor or buffer, not a number");
}

TEST(Resolve, BadLaunchShapes) {
  auto with = [](const std::string& grid, const std::string& more) {
    return message(fmt::format(
        R"({{"steps": [{{"kernel": "k", "grid": [{}], "block": [32], {} "args": ["y"]}}]}})", grid,
        more));
  };
  EXPECT_EQ(with("\"N / 2000\"", ""),
            "step 1 (k): grid.x: N / 2000 = 0 is outside 1 to 4294967295");
  EXPECT_EQ(with("1, \"N N\"", ""), "step 1 (k): grid.y: \"N N\": unexpected 'N' (column 3)");
  EXPECT_EQ(with("1", "\"dynamic_smem\": \"4 * Q\","),
            "step 1 (k): dynamic_smem: \"4 * Q\": unknown name \"Q\" (did you mean \"B\"?) "
            "(column 5)");
  EXPECT_EQ(with("1", "\"cluster\": [0],"), "step 1 (k): cluster.x: 0 is outside 1 to 4294967295");
}

TEST(Resolve, OutputsMustBeWritten) {
  EXPECT_EQ(message(one_kernel("\"x\"")), "output y is never written: no step takes it");
  EXPECT_TRUE(resolved(R"({"steps": [{"memset": "y"}]})").has_value());
  EXPECT_TRUE(resolved(R"({"steps": [{"copy": "x", "to": "y"}]})").has_value());
  EXPECT_FALSE(resolved(R"({"buffers": {"b": {"dtype": "f32", "shape": ["B", "N"]}},
                            "steps": [{"copy": "y", "to": "b"}]})")
                   .has_value());  // read, not written
  EXPECT_TRUE(resolved(one_kernel("\"tY\"", "", R"("tensor_maps": {"tY": {"tensor": "y",
      "box": [4, 8]}},)"))
                  .has_value());  // a kernel may store through a tensor map
  Task empty = row_task();
  empty.tensors.push_back(tensor("nothing", Role::output, {0, 5}));
  EXPECT_TRUE(resolved(one_kernel("\"y\""), empty).has_value());
}

TEST(Resolve, InputsMustNotBeWritten) {
  EXPECT_EQ(message(R"({"steps": [{"memset": "x"}]})"),
            "step 1 (memset): x is an input of the task and must not be written");
  EXPECT_EQ(message(R"({"steps": [{"copy": "y", "to": "weight"}]})"),
            "step 1 (copy): weight is a parameter of the task and must not be written");
  EXPECT_EQ(message(R"({"steps": [{"copy": "weight", "to": "y"}]})"),
            "step 1 (copy): weight has 4000 bytes, y has 32000");
  EXPECT_EQ(message(R"({"steps": [{"copy": "z", "to": "y"}]})"),
            "step 1 (copy): no tensor or buffer \"z\" (did you mean \"x\"?)");
  EXPECT_EQ(message(R"({"steps": [{"copy": "y", "to": "y"}]})"),
            "step 1 (copy): y is copied to itself");
}

TEST(Resolve, RepeatsAreUnrolled) {
  auto out = resolved(R"({"steps": [{"memset": "y"}, {"repeat": "K", "index": "t", "steps": [
    {"repeat": "t", "index": "u", "steps": [
      {"kernel": "k", "grid": ["t + 1"], "block": [32], "args": ["y", "i32:10*t + u"]}]}]}]})");
  ASSERT_TRUE(out.has_value()) << out.error().text();
  ASSERT_EQ(out->steps.size(), 4U);  // memset, (1, 0), (2, 0), (2, 1)
  const auto& last = std::get<KernelLaunch>(out->steps[3]);
  EXPECT_EQ(last.where, "step 2.1.1 (k), t = 2, u = 1");
  EXPECT_EQ(last.grid[0], 3U);
  EXPECT_EQ(value_of<std::int32_t>(last.args[1]), 21);
}

TEST(Resolve, RepeatsAreBounded) {
  auto repeat = [](const std::string& count, const std::string& inside) {
    return fmt::format(R"({{"steps": [{{"repeat": {}, "index": "t", "steps": [{}]}}]}})", count,
                       inside);
  };
  EXPECT_TRUE(contains(message(repeat("60000", R"({"memset": "y"}, {"memset": "y"})")),
                       "more than 100000 steps after unrolling"));
  EXPECT_TRUE(
      contains(message(repeat("100001", R"({"memset": "y"})")), "100001 is outside 0 to 100000"));
  // Rounds that launch nothing count too: this would take 10^10 rounds.
  std::string empty = R"({"repeat": 0, "index": "v", "steps": [{"memset": "y"}]})";
  EXPECT_TRUE(contains(
      message(repeat("100000",
                     fmt::format(R"({{"repeat": 100000, "index": "u", "steps": [{}]}})", empty))),
      "more than 100000 steps"));
  EXPECT_EQ(message(repeat("\"B-N\"", R"({"memset": "y"})")),
            "step 1 (repeat): B-N = -992 is outside 0 to 100000");
  EXPECT_EQ(message(R"({"steps": [{"repeat": 2, "index": "N", "steps": [{"memset": "y"}]}]})"),
            "step 1 (repeat): index \"N\" already names something else");
}

TEST(Resolve, Buffers) {
  auto head = [](const std::string& shape, const char* name = "b") {
    return fmt::format(R"("buffers": {{"{}": {{"dtype": "f32", "shape": [{}]}}}},)", name, shape);
  };
  EXPECT_EQ(message(one_kernel("\"y\"", "", head("1", "x"))),
            "buffer x: a tensor or another buffer has this name");
  EXPECT_EQ(message(one_kernel("\"y\"", "", head("1048576, 1048576"))),
            "buffer b: the plan's buffers are larger than 64 GiB");
  EXPECT_EQ(message(one_kernel("\"y\"", "", head("\"B-8\""))),
            "buffer b: shape: B-8 = 0 is outside 1 to 68719476736");
  EXPECT_EQ(message(one_kernel("\"y\"", "", R"("buffers": {
      "b": {"dtype": "u8", "shape": [68719476736]}, "c": {"dtype": "u8", "shape": []}},)")),
            "buffer c: the plan's buffers are larger than 64 GiB");
  auto out = resolved(one_kernel("\"y\", \"b\"", "", head("\"B\", 3")));
  ASSERT_TRUE(out.has_value());
  EXPECT_EQ(out->buffers[0].bytes, 96);
}

TEST(Resolve, PromotionWidensFloatingTensorsBuffersAndReals) {
  Task task = row_task();
  task.tensors[2].dtype = DType::f64;  // as promoted; the copy below compares promoted bytes
  auto plan = R"({"buffers": {"f": {"dtype": "f32", "shape": ["B", "N"]},
                              "n": {"dtype": "i32", "shape": ["B"]}},
    "steps": [{"copy": "x", "to": "f"},
              {"kernel": "k", "grid": [1], "block": [1],
               "args": ["f", "n", "y", "real:eps", "f32:eps", "i32:N"]}]})";
  auto out = resolved(plan, task, true);
  ASSERT_TRUE(out.has_value()) << out.error().text();
  EXPECT_EQ(out->buffers[0].bytes, 8 * 8000);
  EXPECT_EQ(out->buffers[1].bytes, 4 * 8);
  const auto& args = std::get<KernelLaunch>(out->steps[1]).args;
  EXPECT_EQ(value_of<double>(args[3]), 1e-5);
  EXPECT_EQ(value_of<float>(args[4]), 1e-5F);
}

TEST(Resolve, RealIsANativeTasksOwnType) {
  Task task = row_task();
  for (auto& t : task.tensors) t.dtype = DType::bf16;
  auto bytes = [&](bool promote) {
    auto out = resolved(one_kernel("\"y\", \"real:eps\""), task, promote);
    return std::get<ValueArg>(std::get<KernelLaunch>(out->steps[0]).args[1]).bytes.size();
  };
  EXPECT_EQ(bytes(false), 2U);
  EXPECT_EQ(bytes(true), 8U);
  task.kind = TaskKind::kernelbench;
  EXPECT_EQ(bytes(false), 4U);
}

TEST(Resolve, SizesOfTensorsNeedNoPreparation) {
  auto out = resolved(one_kernel("\"y\", \"i64:x_numel\", \"i32:weight_d0\""));
  ASSERT_TRUE(out.has_value()) << out.error().text();
  EXPECT_EQ(value_of<std::int64_t>(std::get<KernelLaunch>(out->steps[0]).args[1]), 8000);
}

}  // namespace
}  // namespace kp
