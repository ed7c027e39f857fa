#include "verdict/oracle.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"

namespace kp {
namespace {

const char* const kRelu =
    "import torch\nimport torch.nn as nn\nN = 8\n"
    "class Model(nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
    "def get_inputs():\n    return [torch.rand(2, N)]\n"
    "def get_init_inputs():\n    return []\n";

class OracleTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempFolder::make("kp-oracle-test");
    ASSERT_TRUE(made);
    folder_.emplace(std::move(*made));
    ::setenv("KERNELPRO_CACHE", (folder_->path() / "cache").c_str(), 1);
    options_.device = "cpu";
    options_.timeout_s = 120;
  }
  void TearDown() override { ::unsetenv("KERNELPRO_CACHE"); }

  bool has_torch() { return find_python("").has_value(); }
  fs::path file(const std::string& name, std::string_view text) {
    fs::path path = folder_->path() / name;
    EXPECT_TRUE(write_file(path, text));
    return path;
  }
  Error error_of(const std::string& name, std::string_view text) {
    auto oracle = Oracle::start(file(name, text), options_);
    EXPECT_FALSE(oracle);
    return oracle ? Error{} : oracle.error();
  }
  // A program that stands in for python: answers the look for torch, then runs `body`.
  void fake_python(const std::string& body) {
    fs::path path = file("fake-python", "#!/bin/sh\n[ \"$1\" = -c ] && exit 0\n" + body);
    fs::permissions(path, fs::perms::owner_all);
    options_.python = path.string();
  }

  std::optional<TempFolder> folder_;
  OracleOptions options_;
};

TEST_F(OracleTest, DescribesATask) {
  if (!has_torch()) GTEST_SKIP() << "no python with torch on this machine";
  auto oracle = Oracle::start(file("relu.py", kRelu), options_);
  ASSERT_TRUE(oracle) << oracle.error().text();
  const Task& task = oracle->task();
  EXPECT_EQ(task.name, "relu");
  EXPECT_EQ(task.kind, TaskKind::kernelbench);
  EXPECT_EQ(task.reference_source, kRelu);
  ASSERT_EQ(task.tensors.size(), 2u);
  EXPECT_EQ(task.tensors[0].name, "x");
  EXPECT_EQ(task.tensors[0].role, Role::input);
  EXPECT_EQ(task.tensors[1].name, "out");
  EXPECT_EQ(task.tensors[1].shape, (std::vector<std::int64_t>{2, 8}));
  EXPECT_EQ(task.sizes.at("N"), 8);
  EXPECT_EQ(task.work.bytes, 2 * 2 * 8 * 4);
  EXPECT_EQ(task.work.other_flops, 16);
  EXPECT_EQ(oracle->last_stages().size(), 3u);
  // On the CPU it can describe only, says so, and lives on.
  auto draw = oracle->draw(1);
  ASSERT_FALSE(draw);
  EXPECT_TRUE(contains(draw.error().message, "without a GPU"));
  EXPECT_TRUE(oracle->forget(1));
}

TEST_F(OracleTest, PassesPrecisionAndTolerance) {
  if (!has_torch()) GTEST_SKIP() << "no python with torch on this machine";
  options_.precision = Precision::tf32;
  options_.tolerance = Tolerance{1e-2, 1e-3};
  auto oracle = Oracle::start(file("relu.py", kRelu), options_);
  ASSERT_TRUE(oracle) << oracle.error().text();
  EXPECT_EQ(oracle->task().precision, Precision::tf32);
  ASSERT_TRUE(oracle->task().tolerance);
  EXPECT_DOUBLE_EQ(oracle->task().tolerance->rtol, 1e-3);
}

TEST_F(OracleTest, BadTaskFiles) {
  EXPECT_TRUE(contains(Oracle::start("/nowhere/relu.py", options_).error().message,
                       "/nowhere/relu.py: no such file"));
  EXPECT_TRUE(contains(Oracle::start(folder_->path(), options_).error().message, "is a folder"));
  EXPECT_TRUE(contains(error_of("relu.txt", kRelu).message, "ends in .py or .toml"));
  if (!has_torch()) GTEST_SKIP() << "no python with torch on this machine";
  EXPECT_TRUE(contains(error_of("a.py", "import torch\ndef f(:\n").message, "a.py:2: SyntaxError"));
  EXPECT_TRUE(contains(error_of("b.py", "x = 1\n").message, "b.py:1: no class Model"));
  std::string text = replace_all(kRelu, "torch.relu(x)", "(x, 'words')");
  Error error = error_of("c.py", text);
  EXPECT_TRUE(contains(error.message, "returned a str ('words') as output[1], not a tensor"))
      << error.message;
  EXPECT_FALSE(error.hint.empty());
  text = replace_all(kRelu, "get_init_inputs", "init");
  EXPECT_TRUE(contains(error_of("d.py", text).message, "no function get_init_inputs()"));
}

TEST_F(OracleTest, PythonWithoutTorchIsNamed) {
  options_.python = "/nowhere/python3";
  Error error = error_of("relu.py", kRelu);
  EXPECT_TRUE(contains(error.message, "/nowhere/python3")) << error.message;
  EXPECT_TRUE(contains(error.hint, "KERNELPRO_PYTHON"));
  fs::path path = file("no-torch", "#!/bin/sh\nexit 3\n");
  fs::permissions(path, fs::perms::owner_all);
  options_.python = path.string();
  EXPECT_TRUE(contains(error_of("relu.py", kRelu).message, "has no module torch"));
}

TEST_F(OracleTest, AProcessThatDiesLeavesItsLastWords) {
  fake_python("echo 'the reason' >&2\nexit 7\n");
  Error error = error_of("relu.py", kRelu);
  EXPECT_TRUE(contains(error.message, "exit code 7")) << error.message;
  EXPECT_TRUE(contains(error.message, "the reason")) << error.message;
}

TEST_F(OracleTest, AProcessThatHangsIsEnded) {
  fake_python("sleep 60\n");
  options_.timeout_s = 0.3;
  EXPECT_TRUE(contains(error_of("relu.py", kRelu).message, "no answer to its start"));
}

TEST_F(OracleTest, AnswersThatAreNotTheProtocolAreErrors) {
  fake_python("echo 'hello'\ncat >/dev/null\n");
  EXPECT_TRUE(contains(error_of("relu.py", kRelu).message, "not valid JSON"));
  fake_python("echo '[1]'\ncat >/dev/null\n");
  EXPECT_TRUE(contains(error_of("relu.py", kRelu).message, "refused its start"));
  fake_python("echo '{\"ok\": true}'\ncat >/dev/null\n");
  EXPECT_FALSE(error_of("relu.py", kRelu).message.empty());
}

TEST_F(OracleTest, AnswersOfAGpuAreRead) {
  // Recorded shape of the answers to draw, compare and baselines.
  std::string handle(128, 'a');
  fake_python(
      "echo '{\"ok\": true, \"task\": {\"name\": \"t\", \"kind\": \"kernelbench\", \"tensors\": "
      "[]}}'"
      "\nread line\necho '{\"ok\": true, \"notes\": [\"n\"], \"tensors\": [{\"name\": \"x\", "
      "\"handle\": \"" +
      handle +
      "\", \"offset\": 256, \"bytes\": 64}], \"variant\": \"own\"}'\nread line\necho '{\"ok\": "
      "true, \"pass\": false, "
      "\"accuracy_class\": \"\", \"leaves\": [{\"tensor\": \"out\", \"ok\": false, \"max_abs\": "
      "\"inf\", \"worst_index\": [3], \"reason\": \"off\"}]}'\nread line\necho '{\"ok\": true, "
      "\"baselines\": [{\"name\": \"eager\", \"timing\": {\"median_ms\": 2.5, \"samples\": 9}}]}'"
      "\nread line\necho '{\"ok\": true, \"samples_ms\": [2.5, 2.25]}'"
      "\nread line\necho '{\"ok\": true, \"samples_ms\": [2.5]}'"
      "\nread line\necho '{\"ok\": false, \"kind\": \"out_of_memory\", \"error\": {\"message\": "
      "\"full\"}}'"
      "\nread line\necho '{\"ok\": false, \"kind\": \"unfit\", \"error\": {\"message\": "
      "\"zeros\"}}'"
      "\nread line\necho '{\"ok\": true, \"tensors\": [{\"name\": \"x\", \"handle\": \"zz\", "
      "\"offset\": 0, \"bytes\": 1}]}'\n");
  auto oracle = Oracle::start(file("relu.py", kRelu), options_);
  ASSERT_TRUE(oracle) << oracle.error().text();
  auto draw = oracle->draw(5, Variant::signs);
  ASSERT_TRUE(draw) << draw.error().text();
  EXPECT_EQ(draw->variant, Variant::own);  // what was really drawn
  EXPECT_EQ(draw->tensors.at(0).offset, 256);
  EXPECT_EQ(oracle->task().notes, std::vector<std::string>{"n"});
  auto comparison = oracle->compare(5, draw->tensors, 1);
  ASSERT_TRUE(comparison) << comparison.error().text();
  EXPECT_FALSE(comparison->ok);
  EXPECT_EQ(comparison->leaves.at(0).reason, "off");
  EXPECT_GT(comparison->leaves.at(0).max_abs, 1e300);
  auto baselines = oracle->time_baselines(5, 0.1);
  ASSERT_TRUE(baselines) << baselines.error().text();
  EXPECT_DOUBLE_EQ(baselines->at(0).timing.median_ms, 2.5);
  EXPECT_EQ(oracle->sample_baseline(5, "eager", 2).value(), (std::vector<double>{2.5, 2.25}));
  EXPECT_FALSE(oracle->sample_baseline(5, "eager", 2));  // one sample only
  EXPECT_EQ(oracle->failure_kind(), "");
  EXPECT_FALSE(oracle->draw(8, Variant::scaled, true));
  EXPECT_EQ(oracle->failure_kind(), "out_of_memory");
  EXPECT_FALSE(oracle->check_fitness());
  EXPECT_EQ(oracle->failure_kind(), "unfit");
  auto bad = oracle->draw(6);
  ASSERT_FALSE(bad);
  EXPECT_TRUE(contains(bad.error().message, "hexadecimal"));
  auto gone = oracle->draw(7);
  ASSERT_FALSE(gone);
  EXPECT_TRUE(contains(gone.error().message, "the oracle")) << gone.error().message;
}

}  // namespace
}  // namespace kp
