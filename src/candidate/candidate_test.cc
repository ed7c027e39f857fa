#include "candidate/candidate.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/text.h"

namespace kp {
namespace {

constexpr const char* kRelu = R"file(// Plain ReLU.
/* plan
{ "steps": [ {"kernel": "relu", "grid": ["ceil_div(x_numel, 256)"], "block": [256],
              "args": ["x", "y", "i64:x_numel"]} ] }
*/
extern "C" __global__ void relu(const float* x, float* y, long long n) {
}
)file";

std::string message(std::string_view source) {
  auto candidate = parse_candidate(source, "relu.cu");
  EXPECT_FALSE(candidate.has_value());
  return candidate ? "" : candidate.error().message;
}

TEST(Candidate, ParsesItsPlan) {
  auto candidate = parse_candidate(kRelu, "relu.cu");
  ASSERT_TRUE(candidate.has_value()) << candidate.error().text();
  EXPECT_EQ(candidate->source, kRelu);
  EXPECT_EQ(candidate->id, sha256_hex(kRelu).substr(0, 12));
  EXPECT_EQ(candidate->name, "relu.cu");
  ASSERT_EQ(candidate->plan.steps.size(), 1U);
  const auto& kernel = std::get<PlanKernel>(candidate->plan.steps[0]);
  EXPECT_EQ(kernel.kernel, "relu");
  EXPECT_EQ(kernel.grid, std::vector<Expr>{"ceil_div(x_numel, 256)"});
  EXPECT_EQ(kernel.block, std::vector<Expr>{"256"});
  EXPECT_EQ(kernel.args, (std::vector<std::string>{"x", "y", "i64:x_numel"}));
}

TEST(Candidate, WithoutANameItsIdNamesIt) {
  auto candidate = parse_candidate(kRelu, "");
  ASSERT_TRUE(candidate.has_value());
  EXPECT_EQ(candidate->name, "candidate " + candidate->id);
}

TEST(Candidate, JoinMakesAFileThatParses) {
  std::string file =
      join_candidate("__global__ void k() {}\n", R"({"steps": [{"memset": "y", "value": 0}]})");
  auto candidate = parse_candidate(file, "joined");
  ASSERT_TRUE(candidate.has_value()) << candidate.error().text();
  EXPECT_TRUE(contains(candidate->source, "__global__ void k() {}"));
  EXPECT_TRUE(std::holds_alternative<PlanMemset>(candidate->plan.steps.at(0)));
}

TEST(Candidate, PlanCommentMissingUnendedOrDouble) {
  EXPECT_EQ(message("__global__ void k() {}"), "relu.cu: no plan comment");
  EXPECT_EQ(message(""), "relu.cu: no plan comment");
  EXPECT_EQ(message("/* plan: see below */ /* planned { */"), "relu.cu: no plan comment");
  EXPECT_EQ(message("/* plan {\"steps\": []}"), "relu.cu: the plan comment has no end");
  EXPECT_EQ(message(std::string(kRelu) + kRelu), "relu.cu: more than one plan comment");
}

TEST(Candidate, JsonErrorsHaveTheFilesOwnLine) {
  std::string source = replace_all(kRelu, "\"block\": [256],", "\"block\": [256]");
  std::string text = message(source);
  EXPECT_TRUE(starts_with(text, "relu.cu: plan: not valid JSON")) << text;
  EXPECT_TRUE(contains(text, "line 4,")) << text;
}

TEST(Candidate, PlanErrorsSayFileAndStep) {
  EXPECT_EQ(message(replace_all(kRelu, "\"block\"", "\"blok\"")),
            "relu.cu: plan, step 1 (relu): unknown key \"blok\" (did you mean \"block\"?)");
}

TEST(Candidate, LoadsFromAFile) {
  auto folder = TempFolder::make("candidate");
  ASSERT_TRUE(folder.has_value());
  fs::path path = folder->path() / "relu.cu";
  ASSERT_TRUE(write_file(path, kRelu).has_value());
  auto candidate = load_candidate(path);
  ASSERT_TRUE(candidate.has_value());
  EXPECT_EQ(candidate->name, path.string());
  auto missing = load_candidate(folder->path() / "none.cu");
  ASSERT_FALSE(missing.has_value());
  EXPECT_TRUE(contains(missing.error().message, "none.cu: no such file"));
}

}  // namespace
}  // namespace kp
