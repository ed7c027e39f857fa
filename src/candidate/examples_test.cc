// Every task and candidate under examples/ loads and resolves; the broken ones fail where they
// should. (That they compile and compute the right values needs nvcc and a GPU.)
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "candidate/candidate.h"
#include "candidate/resolve.h"
#include "task/check.h"
#include "task/native.h"

namespace kp {
namespace {

const fs::path kExamples = fs::path(KERNELPRO_SOURCE_DIR) / "examples";

std::vector<fs::path> files(const fs::path& folder, const char* ending) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ending) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

Task native(const std::string& name) {
  auto task = load_native_task(kExamples / "native" / name / (name + ".toml"));
  EXPECT_TRUE(task.has_value()) << task.error().text();
  return task.value_or(Task{});
}

Candidate broken(const char* name) {
  auto candidate = load_candidate(kExamples / "candidates" / "broken" / name);
  EXPECT_TRUE(candidate.has_value()) << candidate.error().text();
  return candidate.value_or(Candidate{});
}

// x (and bias, a parameter) → out, as the oracle names the tensors of such a PyTorch task.
Task elementwise(bool bias) {
  Task task;
  auto add = [&](const char* name, Role role, std::vector<std::int64_t> shape) {
    TensorSpec t;
    t.name = name;
    t.role = role;
    t.shape = std::move(shape);
    t.strides = dense_strides(t.shape);
    task.tensors.push_back(std::move(t));
  };
  add("x", Role::input, {512, 1000});
  if (bias) add("bias", Role::parameter, {1000});
  add("out", Role::output, {512, 1000});
  return task;
}

TEST(Examples, NativeTasksAndTheirReferencesResolve) {
  auto tomls = files(kExamples / "native", ".toml");
  EXPECT_GE(tomls.size(), 5U);
  for (const auto& toml : tomls) {
    auto task = load_native_task(toml);
    ASSERT_TRUE(task.has_value()) << task.error().text();
    EXPECT_EQ(task->name, toml.stem().string());
    auto reference = native_reference_path(*task);
    ASSERT_TRUE(reference.has_value()) << reference.error().text();
    auto candidate = load_candidate(*reference);
    ASSERT_TRUE(candidate.has_value()) << candidate.error().text();
    for (bool promote : {false, true}) {
      auto plan = resolve(candidate->plan, *task, promote);
      ASSERT_TRUE(plan.has_value()) << toml << ": " << plan.error().text();
    }
    EXPECT_TRUE(contains(candidate->source, "#ifndef real\n#define real float\n#endif")) << toml;
    EXPECT_FALSE(task->work.bytes < 48e6) << toml << ": too small to be timed well";
  }
}

TEST(Examples, CandidatesResolveForTheirTask) {
  int seen = 0;
  for (const auto& path : files(kExamples / "candidates", ".cu")) {
    if (path.parent_path().filename() == "broken") continue;
    auto candidate = load_candidate(path);
    ASSERT_TRUE(candidate.has_value()) << candidate.error().text();
    Task task;
    for (const char* name : {"vector_add", "row_softmax", "layer_norm", "transpose", "matmul"}) {
      if (starts_with(path.stem().string(), name)) task = native(name);
    }
    if (starts_with(path.stem().string(), "relu")) task = elementwise(false);
    if (starts_with(path.stem().string(), "gelu_bias")) task = elementwise(true);
    ASSERT_FALSE(task.tensors.empty()) << path << " is named after no task";
    auto plan = resolve(candidate->plan, task);
    ASSERT_TRUE(plan.has_value()) << path << ": " << plan.error().text();
    ++seen;
  }
  EXPECT_GE(seen, 7);
}

TEST(Examples, UnknownTensorFailsToResolve) {
  auto plan = resolve(broken("unknown_tensor.cu").plan, native("vector_add"));
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().message,
            "step 1 (vector_add): argument 3: no tensor, buffer or tensor map \"outp\" (did you "
            "mean \"out\"?)");
}

TEST(Examples, TooManyThreadsFailsTheCheck) {
  auto plan = resolve(broken("too_many_threads.cu").plan, native("vector_add"));
  ASSERT_TRUE(plan.has_value()) << plan.error().text();
  auto status = check_plan(*plan, {{"vector_add", {8, 8, 8, 8}, 0, 0}}, {});
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().message, "step 1 (vector_add): block.x is 2000, the device allows 1024");
}

TEST(Examples, TheOtherBrokenOnesGetPastThePlan) {
  for (const char* name :
       {"does_not_compile.cu", "out_of_bounds.cu", "never_ends.cu", "wrong_values.cu"}) {
    auto plan = resolve(broken(name).plan, native("vector_add"));
    EXPECT_TRUE(plan.has_value()) << name << ": " << plan.error().text();
  }
}

}  // namespace
}  // namespace kp
