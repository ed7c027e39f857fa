#include "task/native.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace kp {
namespace {

constexpr const char* kGood = R"(name = "row_scale"
reference = "row_scale.cu"
precision = "tf32"
[sizes]
B = 4
N = 6
[scalars]
eps = 1e-5
steps = 3
[tensors.x]
role = "input"
dtype = "f32"
shape = ["B", "2*N"]
values = {normal = [0.5, 2]}
[tensors.a]
role = "parameter"
dtype = "f32"
shape = [6]
values = {constant = 1}
[tensors.y]
role = "output"
dtype = "f32"
shape = ["B", "N"]
[tolerance]
atol = 1e-5
rtol = 0
[work]
matmul_flops = "2*B*N"
)";

class NativeTask : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempFolder::make("native");
    ASSERT_TRUE(folder.has_value());
    folder_ = std::make_unique<TempFolder>(std::move(*folder));
    ASSERT_TRUE(write_file(folder_->path() / "row_scale.cu", "// kernel\n").has_value());
  }

  Result<Task> load(const std::string& text) {
    EXPECT_TRUE(write_file(path(), text).has_value());
    return load_native_task(path());
  }

  fs::path path() const { return folder_->path() / "task.toml"; }

  // The Error's message without the folder; `from` in the good text is replaced by `to`.
  std::string error_after(const std::string& from, const std::string& to) {
    EXPECT_TRUE(contains(kGood, from)) << from;
    auto task = load(replace_all(kGood, from, to));
    EXPECT_FALSE(task.has_value()) << "accepted: " << to;
    if (task) return "";
    hint_ = task.error().hint;
    return replace_all(task.error().message, folder_->path().string() + "/", "");
  }

  std::unique_ptr<TempFolder> folder_;
  std::string hint_;
};

TEST_F(NativeTask, LoadsInTheOrderOfTheFile) {
  auto loaded = load(kGood);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().text();
  const Task& task = *loaded;
  EXPECT_EQ(task.name, "row_scale");
  EXPECT_EQ(task.kind, TaskKind::native);
  EXPECT_EQ(task.reference_source, "// kernel\n");
  EXPECT_EQ(task.precision, Precision::tf32);
  ASSERT_EQ(task.tensors.size(), 3U);
  EXPECT_EQ(task.tensors[0].name, "x");
  EXPECT_EQ(task.tensors[0].shape, (std::vector<std::int64_t>{4, 12}));
  EXPECT_EQ(task.tensors[0].strides, (std::vector<std::int64_t>{12, 1}));
  EXPECT_EQ(task.tensors[0].values.kind, ValueRange::Kind::normal);
  EXPECT_EQ(task.tensors[0].values.low, 0.5);
  EXPECT_EQ(task.tensors[0].values.high, 2);
  EXPECT_EQ(task.tensors[1].name, "a");
  EXPECT_EQ(task.tensors[1].role, Role::parameter);
  EXPECT_EQ(task.tensors[1].values.kind, ValueRange::Kind::constant);
  EXPECT_EQ(task.tensors[2].role, Role::output);
  ASSERT_EQ(task.scalars.size(), 2U);
  EXPECT_FALSE(task.scalars[0].is_integer);
  EXPECT_TRUE(task.scalars[1].is_integer);
  EXPECT_EQ(task.sizes.at("y_numel"), 24);
  EXPECT_EQ(task.sizes.at("B"), 4);
  EXPECT_EQ(task.tolerance->atol, 1e-5);
  EXPECT_EQ(task.work.matmul_flops, 48);
  EXPECT_EQ(task.work.bytes, (48 + 6 + 24) * 4);
  auto reference = native_reference_path(task);
  ASSERT_TRUE(reference.has_value());
  EXPECT_EQ(reference->filename(), "row_scale.cu");
}

TEST_F(NativeTask, NameDefaultsToTheFile) {
  auto task = load(replace_all(kGood, "name = \"row_scale\"\n", ""));
  ASSERT_TRUE(task.has_value()) << task.error().text();
  EXPECT_EQ(task->name, "task");
}

TEST_F(NativeTask, MissingFiles) {
  auto task = load_native_task(folder_->path() / "none.toml");
  ASSERT_FALSE(task.has_value());
  EXPECT_TRUE(contains(task.error().message, "none.toml: no such file"));
  std::string message = error_after("reference = \"row_scale.cu\"", "reference = \"other.cu\"");
  EXPECT_EQ(message, "task.toml:2: reference: no file other.cu");
  EXPECT_EQ(error_after("reference = \"row_scale.cu\"\n", ""),
            "task.toml:1: reference: is missing");
}

TEST_F(NativeTask, SyntaxErrorHasItsLine) {
  std::string message = error_after("dtype = \"f32\"\nshape = [6]", "dtype = f32\nshape = [6]");
  EXPECT_TRUE(starts_with(message, "task.toml:17:")) << message;
  EXPECT_TRUE(contains(message, "not valid TOML")) << message;
  EXPECT_TRUE(contains(error_after("B = 4", "B = 4\nB = 5"), "not valid TOML"));
  EXPECT_TRUE(contains(error_after("[tensors.a]", "[|tensors.a]"), "task.toml:15:"));
}

TEST_F(NativeTask, OnlyCommentsMayLeaveAscii) {
  auto task = load("\xEF\xBB\xBF# \xCE\xB5 is small\n" + std::string(kGood));
  ASSERT_TRUE(task.has_value()) << task.error().text();
  EXPECT_EQ(error_after("eps = 1e-5", "\xCE\xB5 = 1e-5"), "task.toml:8: a character outside ASCII");
  EXPECT_EQ(error_after("eps = 1e-5", "\xCA\x82 # x"), "task.toml:8: a character outside ASCII");
  EXPECT_EQ(error_after("role = \"parameter\"", "role = \"param\xC3\xA9tre\""),
            "task.toml:16: a character outside ASCII");
}

TEST_F(NativeTask, UnknownKeysAndChoices) {
  EXPECT_EQ(error_after("precision =", "precison ="),
            "task.toml:3: precison: unknown key (did you mean \"precision\"?)");
  EXPECT_TRUE(contains(hint_, "reference"));
  EXPECT_EQ(error_after("[sizes]", "[size]"),
            "task.toml:4: size: unknown key (did you mean \"sizes\"?)");
  EXPECT_EQ(error_after("shape = [6]", "shapes = [6]"),
            "task.toml:18: tensors.a.shapes: unknown key (did you mean \"shape\"?)");
  EXPECT_EQ(error_after("role = \"parameter\"", "role = \"weight\""),
            "task.toml:16: tensors.a.role: cannot be \"weight\"");
  EXPECT_EQ(hint_, "allowed: input, parameter, output");
  EXPECT_EQ(error_after("\"tf32\"", "\"fast\""),
            "task.toml:3: precision: unknown precision \"fast\"");
  EXPECT_EQ(error_after("dtype = \"f32\"\nshape = [6]", "dtype = \"float\"\nshape = [6]"),
            "task.toml:17: tensors.a.dtype: unknown element type \"float\"");
  EXPECT_EQ(error_after("dtype = \"f32\"\nshape = [6]", "dtype = \"c64\"\nshape = [6]"),
            "task.toml:17: tensors.a.dtype: native tasks cannot hold c64");
  EXPECT_EQ(error_after("rtol = 0", "rotl = 0"),
            "task.toml:26: tolerance.rotl: unknown key (did you mean \"rtol\"?)");
}

TEST_F(NativeTask, BadShapesAndValues) {
  EXPECT_EQ(error_after("2*N", "2*M"),
            "task.toml:13: tensors.x.shape: \"2*M\": unknown name \"M\" (did you mean \"B\"?) "
            "(column 3)");
  EXPECT_EQ(error_after("2*N", "B-N"), "task.toml:13: tensors.x.shape: holds -2");
  EXPECT_EQ(error_after("shape = [6]", "shape = 6"),
            "task.toml:18: tensors.a.shape: must be a list of at most 16 whole numbers and "
            "expressions");
  EXPECT_EQ(error_after("shape = [6]", "shape = [6.5]"),
            "task.toml:18: tensors.a.shape: must be a whole number or an expression over the "
            "sizes");
  EXPECT_EQ(error_after("shape = [6]\n", ""), "task.toml:15: tensors.a.shape: is missing");
  EXPECT_EQ(error_after("shape = [6]", "shape = [1000000000000000]"),
            "task.toml:15: tensors.a: larger than 2^48 bytes");
  EXPECT_EQ(error_after("normal = [0.5, 2]", "gauss = [0.5, 2]"),
            "task.toml:14: tensors.x.values: cannot be \"gauss\"");
  EXPECT_EQ(error_after("normal = [0.5, 2]", "uniform = [1, 1]"),
            "task.toml:14: tensors.x.values.uniform: the first number must be below the second");
  EXPECT_EQ(error_after("normal = [0.5, 2]", "normal = [0, -1]"),
            "task.toml:14: tensors.x.values.normal: a standard deviation must not be negative");
  EXPECT_EQ(error_after("normal = [0.5, 2]", "normal = [0]"),
            "task.toml:14: tensors.x.values.normal: must be a list of two numbers");
  EXPECT_EQ(error_after("normal = [0.5, 2]", "constant = inf"),
            "task.toml:14: tensors.x.values.constant: must be finite");
  EXPECT_EQ(error_after("B = 4", "B = -4"), "task.toml:5: sizes.B: is -4, must not be negative");
  EXPECT_EQ(error_after("B = 4", "B = 4.0"), "task.toml:5: sizes.B: must be a whole number");
  EXPECT_EQ(error_after("eps = 1e-5", "eps = \"small\""),
            "task.toml:8: scalars.eps: must be a number");
  EXPECT_EQ(error_after("atol = 1e-5", "atol = -1"),
            "task.toml:25: tolerance.atol: must not be negative");
  EXPECT_EQ(error_after("atol = 1e-5\n", ""), "task.toml:24: tolerance.atol: is missing");
  EXPECT_EQ(error_after("2*B*N", "2*B*"),
            "task.toml:28: work.matmul_flops: \"2*B*\": expected a number, name or '(', but the "
            "expression ends (column 5)");
}

TEST_F(NativeTask, NamesAndRolesMustMakeSense) {
  EXPECT_EQ(error_after("[tensors.a]", "[tensors.B]"),
            "task.toml:15: tensors.B: a size, scalar or tensor of this name exists already");
  EXPECT_EQ(error_after("[tensors.a]", "[tensors.\"a-b\"]"),
            "task.toml:15: tensors.a-b: \"a-b\" is not a name");
  EXPECT_EQ(error_after("role = \"output\"", "role = \"input\""),
            "task.toml:10: tensors: no tensor has role = \"output\"");
  EXPECT_EQ(error_after("dtype = \"f32\"\nshape = [6]", "dtype = \"f16\"\nshape = [6]"),
            "task.toml:10: tensors: x is f32 but a is f16");
  EXPECT_EQ(error_after("role = \"parameter\"", "role = \"output\""),
            "task.toml:19: tensors.a.values: an output has no values");
}

}  // namespace
}  // namespace kp
