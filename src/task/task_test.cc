#include "task/task.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "base/text.h"

namespace kp {
namespace {

TensorSpec tensor(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                  DType dtype = DType::f32) {
  TensorSpec t;
  t.name = "x";
  t.dtype = dtype;
  t.shape = std::move(shape);
  t.strides = std::move(strides);
  return t;
}

TEST(TensorSpec, StorageOfStridedTensors) {
  EXPECT_EQ(tensor({4, 5}, {5, 1}).storage_bytes(), 80);
  EXPECT_EQ(tensor({4, 5}, {1, 4}).storage_bytes(), 80);       // transposed
  EXPECT_EQ(tensor({4, 5}, {10, 2}).storage_bytes(), 39 * 4);  // every second element
  EXPECT_EQ(tensor({4, 5}, {0, 1}).storage_bytes(), 20);       // expanded
  EXPECT_EQ(tensor({}, {}, DType::f64).storage_bytes(), 8);    // one number
  EXPECT_EQ(tensor({4, 0, 7}, {7, 7, 1}).storage_bytes(), 0);  // empty
  EXPECT_EQ(tensor({4, 5}, {5, 1}, DType::bf16).storage_bytes(), 40);
}

TEST(TensorSpec, Contiguous) {
  EXPECT_TRUE(tensor({4, 5}, {5, 1}).contiguous());
  EXPECT_TRUE(tensor({}, {}).contiguous());
  EXPECT_TRUE(tensor({1, 5}, {77, 1}).contiguous());  // the stride of one row is never used
  EXPECT_TRUE(tensor({0, 5}, {3, 3}).contiguous());
  EXPECT_FALSE(tensor({4, 5}, {1, 4}).contiguous());
  EXPECT_FALSE(tensor({4, 5}, {6, 1}).contiguous());
  EXPECT_FALSE(tensor({4, 5}, {0, 1}).contiguous());
}

TEST(Task, TensorSizesKeepNamesOfTheTask) {
  Task task;
  task.tensors = {tensor({4, 5}, {5, 1})};
  task.sizes = {{"x_d1", 99}};
  add_tensor_sizes(task);
  EXPECT_EQ(task.sizes,
            (std::map<std::string, std::int64_t>{{"x_d0", 4}, {"x_d1", 99}, {"x_numel", 20}}));
}

TEST(Precision, Names) {
  for (auto p : {Precision::strict, Precision::tf32, Precision::half})
    EXPECT_EQ(parse_precision(name_of(p)).value(), p);
  auto bad = parse_precision("fast");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().message, "unknown precision \"fast\"");
  EXPECT_EQ(bad.error().hint, "allowed: strict, tf32, half");
}

Task full_task() {
  Task task;
  task.name = "layer";
  task.path = "/tasks/layer.py";
  task.kind = TaskKind::kernelbench;
  task.reference_source = "class Model: ...\n";
  task.tensors = {tensor({4, 5}, {1, 4}), tensor({5}, {1}, DType::bf16), tensor({}, {})};
  task.tensors[1].name = "fc_weight";
  task.tensors[1].role = Role::parameter;
  task.tensors[1].origin = "fc.weight";
  task.tensors[1].values = {ValueRange::Kind::normal, 0.5, 2};
  task.tensors[2].name = "out";
  task.tensors[2].role = Role::output;
  task.scalars = {{"eps", "ln.eps", false, 1e-5},
                  {"low", "clamp.min", false, -std::numeric_limits<double>::infinity()},
                  {"fill", "fill", false, std::nan("")},
                  {"k", "top.k", true, 3}};
  task.sizes = {{"x_d0", 4}};
  task.precision = Precision::tf32;
  task.tolerance = Tolerance{1e-2, 1e-3};
  task.work = {100, 2e9, 3};
  task.operators = {"aten::linear", "aten::relu"};
  task.notes = {"weights were halved"};
  return task;
}

TEST(TaskJson, RoundTrip) {
  Task task = full_task();
  std::string text = dump_json(to_json(task));
  auto json = parse_json(text, "task");
  ASSERT_TRUE(json.has_value()) << json.error().message;
  auto back = task_from_json(*json);
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(dump_json(to_json(*back)), text);
  EXPECT_EQ(back->tensors[0].strides, task.tensors[0].strides);
  EXPECT_EQ(back->tensors[1].values.high, 2);
  EXPECT_TRUE(std::isinf(back->scalars[1].value));
  EXPECT_TRUE(std::isnan(back->scalars[2].value));
  EXPECT_EQ(back->tolerance->rtol, 1e-3);
  EXPECT_EQ(back->work.matmul_flops, 2e9);

  task.tolerance.reset();
  auto without = task_from_json(to_json(task));
  ASSERT_TRUE(without.has_value());
  EXPECT_FALSE(without->tolerance.has_value());
}

TEST(TaskJson, OptionalMembersMayBeMissing) {
  auto task = task_from_json(Json::parse(R"({"name": "t", "kind": "kernelbench", "tensors": [
    {"name": "x", "dtype": "f32", "shape": [2], "strides": [1], "role": "input"}]})"));
  ASSERT_TRUE(task.has_value()) << task.error().message;
  EXPECT_EQ(task->precision, Precision::strict);
  EXPECT_NE(task->find_tensor("x"), nullptr);
  EXPECT_EQ(task->find_tensor("y"), nullptr);
}

// What assets/oracle/oracle.py says of examples/pytorch/layer_norm.py (its source left out).
TEST(TaskJson, ReadsTheOraclesAnswer) {
  auto task = task_from_json(Json::parse(R"json({
    "name": "layer_norm", "path": "examples/pytorch/layer_norm.py", "kind": "kernelbench",
    "tensors": [
      {"name": "x", "dtype": "f32", "shape": [16384, 4096], "strides": [4096, 1], "role": "input",
       "origin": "forward(x)"},
      {"name": "weight", "dtype": "f32", "shape": [4096], "strides": [1], "role": "parameter",
       "origin": "weight"},
      {"name": "bias", "dtype": "f32", "shape": [4096], "strides": [1], "role": "parameter",
       "origin": "bias"},
      {"name": "out", "dtype": "f32", "shape": [16384, 4096], "strides": [4096, 1],
       "role": "output", "origin": "output"}],
    "scalars": [{"name": "eps", "origin": "eps", "is_integer": false, "value": 1e-05}],
    "sizes": {"ROWS": 16384, "FEATURES": 4096}, "precision": "strict", "tolerance": null,
    "work": {"bytes": 536903680, "matmul_flops": 0, "other_flops": 67108864},
    "operators": ["aten::native_layer_norm"], "notes": []})json"));
  ASSERT_TRUE(task.has_value()) << task.error().text();
  EXPECT_EQ(task->tensors.size(), 4U);
  EXPECT_EQ(task->find_tensor("weight")->role, Role::parameter);
  EXPECT_EQ(task->work.bytes, 536903680);
  EXPECT_EQ(task->sizes.at("FEATURES"), 4096);
}

std::string broken(const std::function<void(Json&)>& change) {
  Json json = to_json(full_task());
  change(json);
  auto task = task_from_json(json);
  EXPECT_FALSE(task.has_value());
  return task ? "" : task.error().message;
}

TEST(TaskJson, ErrorsNameThePlace) {
  EXPECT_EQ(broken([](Json& j) { j["kind"] = "jax"; }), "task: unknown kind \"jax\"");
  EXPECT_EQ(broken([](Json& j) {
              j["tensors"][0]["shape"] = {4, -5};
            }),
            "task, tensor 1 (x): extent 1 is -5");
  EXPECT_EQ(broken([](Json& j) { j["tensors"][0]["strides"] = Json::array({1}); }),
            "task, tensor 1 (x): 2 extents but 1 strides");
  EXPECT_EQ(broken([](Json& j) {
              j["tensors"][0]["shape"] = {std::int64_t{1} << 60, 5};
            }),
            "task, tensor 1 (x): larger than 2^48 bytes");
  EXPECT_EQ(broken([](Json& j) { j["tensors"][1]["name"] = "fc.weight"; }),
            "task, tensor 2 (fc.weight): \"fc.weight\" is not a name");
  EXPECT_EQ(broken([](Json& j) { j["tensors"][1]["name"] = "x"; }),
            "task: two tensors are named \"x\"");
  EXPECT_EQ(broken([](Json& j) { j["tensors"][0]["role"] = "weight"; }),
            "task, tensor 1 (x): unknown role \"weight\"");
  EXPECT_EQ(broken([](Json& j) { j["tensors"][0].erase("dtype"); }),
            "task, tensor 1 (x): \"dtype\" is missing");
  EXPECT_EQ(broken([](Json& j) { j["tensors"] = "x"; }), "task: \"tensors\" must be a list");
  EXPECT_EQ(broken([](Json& j) { j["sizes"]["x_d0"] = 1.5; }),
            "task, sizes: \"x_d0\" must be an integer");
  EXPECT_EQ(broken([](Json& j) { j["scalars"][0]["value"] = "much"; }),
            "task, scalar 1: \"value\" must be a number");
  EXPECT_EQ(broken([](Json& j) { j["operators"] = {1}; }),
            "task: \"operators\" must hold strings only");
  EXPECT_EQ(broken([](Json& j) { j = 5; }), "task: expected an object");
}

}  // namespace
}  // namespace kp
