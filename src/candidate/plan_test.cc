#include "candidate/plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace kp {
namespace {

constexpr const char* kFull = R"json({
  "buffers": {"rowmax": {"dtype": "f32", "shape": ["B", 4]}, "flag": {"dtype": "u8", "shape": []}},
  "tensor_maps": {
    "tA": {"tensor": "a", "box": [64, 128], "swizzle": "128B"},
    "tB": {"tensor": "b", "dims": ["N", "K"], "strides": ["N"], "box": [32, "BN"],
           "l2_promotion": "128B", "interleave": "none", "nan_fill": true}},
  "steps": [
    {"memset": "y", "value": 255},
    {"copy": "x", "to": "rowmax"},
    {"repeat": "T", "index": "t", "steps": [
      {"repeat": 2, "index": "u", "steps": [
        {"kernel": "k<128>", "grid": ["B", 1, 1], "block": [256], "args": []}]}]},
    {"kernel": "finish", "grid": ["ceil_div(N, 1024)", "B"], "block": [256, 1, 1],
     "cluster": [2, 1, 1], "dynamic_smem": 4096, "cooperative": true,
     "programmatic_dependent_launch": true, "args": ["tA", "y", "i32:N", "f32:1e-5"]}]})json";

Plan parsed(const std::string& text) {
  auto plan = parse_plan(Json::parse(text), "plan");
  EXPECT_TRUE(plan.has_value()) << plan.error().text();
  return plan.value_or(Plan{});
}

TEST(Plan, ReadsEveryMember) {
  Plan plan = parsed(kFull);
  ASSERT_EQ(plan.buffers.size(), 2U);
  EXPECT_EQ(plan.buffers[0].name, "rowmax");
  EXPECT_EQ(plan.buffers[0].shape, (std::vector<Expr>{"B", "4"}));
  EXPECT_EQ(plan.buffers[1].dtype, DType::u8);
  ASSERT_EQ(plan.tensor_maps.size(), 2U);
  EXPECT_EQ(plan.tensor_maps[0].swizzle, "128B");
  EXPECT_EQ(plan.tensor_maps[0].l2_promotion, "256B");
  EXPECT_EQ(plan.tensor_maps[1].dims, (std::vector<Expr>{"N", "K"}));
  EXPECT_EQ(plan.tensor_maps[1].strides, std::vector<Expr>{"N"});
  EXPECT_TRUE(plan.tensor_maps[1].nan_fill);
  ASSERT_EQ(plan.steps.size(), 4U);
  EXPECT_EQ(std::get<PlanMemset>(plan.steps[0]).value, 255);
  EXPECT_EQ(std::get<PlanCopy>(plan.steps[1]).to, "rowmax");
  const auto& outer = std::get<PlanRepeat>(plan.steps[2]);
  EXPECT_EQ(outer.count, "T");
  EXPECT_EQ(outer.index, "t");
  const auto& inner = std::get<PlanRepeat>(outer.steps.at(0));
  EXPECT_EQ(inner.count, "2");
  EXPECT_EQ(std::get<PlanKernel>(inner.steps.at(0)).kernel, "k<128>");
  const auto& finish = std::get<PlanKernel>(plan.steps[3]);
  EXPECT_EQ(finish.dynamic_smem, "4096");
  EXPECT_EQ(finish.cluster, (std::vector<Expr>{"2", "1", "1"}));
  EXPECT_TRUE(finish.cooperative);
  EXPECT_TRUE(finish.programmatic_dependent_launch);
  EXPECT_EQ(finish.args.size(), 4U);
}

TEST(Plan, RoundTrip) {
  Json once = to_json(parsed(kFull));
  auto again = parse_plan(once, "plan");
  ASSERT_TRUE(again.has_value()) << again.error().text();
  EXPECT_EQ(dump_json(to_json(*again)), dump_json(once));
  EXPECT_EQ(once["steps"][3]["block"][0], 256);                        // numbers stay numbers
  EXPECT_EQ(once["steps"][3]["grid"][1], "B");                         // expressions stay text
  EXPECT_EQ(once["tensor_maps"]["tA"].contains("interleave"), false);  // defaults are left out
}

// The Error after `from` in the full plan became `to`.
std::string broken(const std::string& from, const std::string& to) {
  EXPECT_TRUE(contains(kFull, from)) << from;
  auto plan = parse_plan(Json::parse(replace_all(kFull, from, to)), "plan");
  EXPECT_FALSE(plan.has_value()) << "accepted: " << to;
  return plan ? "" : plan.error().message;
}

TEST(Plan, UnknownKeysAreErrorsEverywhere) {
  EXPECT_EQ(broken("\"buffers\"", "\"bufers\""),
            "plan: unknown key \"bufers\" (did you mean \"buffers\"?)");
  EXPECT_EQ(broken("\"dtype\": \"u8\"", "\"dtype\": \"u8\", \"zero\": true"),
            "plan, buffer flag: unknown key \"zero\"");
  EXPECT_EQ(broken("\"swizzle\"", "\"swizle\""),
            "plan, tensor map tA: unknown key \"swizle\" (did you mean \"swizzle\"?)");
  EXPECT_EQ(broken("\"dynamic_smem\"", "\"shared_memory\""),
            "plan, step 4 (finish): unknown key \"shared_memory\"");
  EXPECT_EQ(broken("\"index\": \"u\"", "\"indx\": \"u\""),
            "plan, step 3.1: unknown key \"indx\" (did you mean \"index\"?)");
  EXPECT_EQ(broken("\"to\"", "\"into\""),
            "plan, step 2: unknown key \"into\" (did you mean \"to\"?)");
  EXPECT_EQ(broken("\"value\"", "\"vlaue\""),
            "plan, step 1: unknown key \"vlaue\" (did you mean \"value\"?)");
  EXPECT_EQ(broken("\"memset\"", "\"clear\""), "plan, step 1: not a step");
}

TEST(Plan, WrongTypesAndCounts) {
  EXPECT_EQ(broken("\"block\": [256, 1, 1]", "\"block\": [256, 1, 1, 1]"),
            "plan, step 4 (finish): \"block\" must be a list of 1 to 3 expressions, not "
            "[256,1,1,1]");
  EXPECT_EQ(broken("\"block\": [256, 1, 1]", "\"block\": 256"),
            "plan, step 4 (finish): \"block\" must be a list of 1 to 3 expressions, not 256");
  EXPECT_EQ(broken("\"block\": [256, 1, 1]", "\"block\": [25.6]"),
            "plan, step 4 (finish): \"block\": must be a whole number or an expression in quotes, "
            "not 25.6");
  EXPECT_EQ(broken("\"block\": [256, 1, 1],", ""), "plan, step 4 (finish): \"block\" is missing");
  EXPECT_EQ(broken("\"i32:N\"", "1024"), "plan, step 4 (finish): argument 3 is 1024");
  EXPECT_EQ(broken("\"args\": []", "\"args\": \"x\""),
            "plan, step 3.1.1 (k<128>): \"args\" must be a list");
  EXPECT_EQ(broken("\"cooperative\": true", "\"cooperative\": 1"),
            "plan, step 4 (finish): \"cooperative\" must be true or false");
  EXPECT_EQ(broken("\"value\": 255", "\"value\": 256"),
            "plan, step 1: memset sets every byte to 0 to 255, not 256");
  EXPECT_EQ(broken("\"128B\"", "\"256B\""), "plan, tensor map tA: \"swizzle\" cannot be \"256B\"");
  EXPECT_EQ(broken("\"dtype\": \"f32\"", "\"dtype\": \"float\""),
            "plan, buffer rowmax: unknown element type \"float\"");
  EXPECT_EQ(broken("\"rowmax\"", "\"row max\""), "plan, buffer row max: \"row max\" is not a name");
  EXPECT_EQ(broken(", \"shape\": []", ""), "plan, buffer flag: \"shape\" is missing");
  EXPECT_EQ(broken("\"index\": \"t\"", "\"index\": \"t+1\""),
            "plan, step 3: \"index\": \"t+1\" is not a name");
  EXPECT_EQ(broken(", \"box\": [64, 128]", ""), "plan, tensor map tA: \"box\" is missing");
}

TEST(Plan, NotAPlanAtAll) {
  auto message = [](const char* text) {
    auto plan = parse_plan(Json::parse(text), "a.cu: plan");
    return plan ? std::string() : plan.error().message;
  };
  EXPECT_EQ(message("[]"), "a.cu: plan: must be an object");
  EXPECT_EQ(message("{}"), "a.cu: plan: \"steps\" must be a list of at least one step");
  EXPECT_EQ(message(R"({"steps": []})"),
            "a.cu: plan: \"steps\" must be a list of at least one step");
  EXPECT_EQ(message(R"({"steps": [7]})"), "a.cu: plan, step 1: must be an object");
  EXPECT_EQ(message(R"({"steps": [{"repeat": 2, "index": "t", "steps": []}]})"),
            "a.cu: plan, step 1: \"steps\" must be a list of at least one step");
}

TEST(Plan, NestingIsBounded) {
  std::string text = R"({"memset": "y"})";
  for (int i = 0; i < 9; ++i)
    text = fmt::format(R"({{"repeat": 1, "index": "i{}", "steps": [{}]}})", i, text);
  auto plan = parse_plan(Json::parse(fmt::format(R"({{"steps": [{}]}})", text)), "plan");
  ASSERT_FALSE(plan.has_value());
  EXPECT_TRUE(contains(plan.error().message, "nested deeper than 8 levels"));
}

}  // namespace
}  // namespace kp
