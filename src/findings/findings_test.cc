#include <gtest/gtest.h>

#include "base/text.h"
#include "findings/tool.h"

namespace kp {
namespace {

KernelProfile kernel(std::string name, double us) {
  KernelProfile k;
  k.kernel = std::move(name);
  if (us > 0) k.metrics[Metric::duration_us] = {us, ""};
  return k;
}

std::vector<Finding> twice_as_fast(const ToolInput& input) {
  Finding finding;
  finding.cause = "slow";
  finding.place.kernel = input.kernel.kernel;
  finding.predicted_gain = 2;
  finding.confidence = 0.5;
  return {finding};
}

Tool tool(std::vector<BoundClass> classes = {BoundClass::memory, BoundClass::compute,
                                             BoundClass::latency}) {
  return {
      .name = "test", .says = "", .classes = std::move(classes), .needs = {}, .run = twice_as_fast};
}

TEST(WholeGain, IsAmdahl) {
  EXPECT_DOUBLE_EQ(whole_gain(1, 4), 4);
  EXPECT_DOUBLE_EQ(whole_gain(0.5, 1e9), 1 / (0.5 + 0.5e-9));
  EXPECT_DOUBLE_EQ(whole_gain(0, 100), 1);
  EXPECT_NEAR(whole_gain(0.6, 3), 1 / (0.4 + 0.2), 1e-12);
}

TEST(RunTools, ClassTurnsToolsOff) {
  Profile profile;
  profile.roofline.bound = BoundClass::compute;
  profile.kernels = {kernel("k", 10)};
  Findings got = run_tools(profile, {tool({BoundClass::memory, BoundClass::latency})});
  EXPECT_TRUE(got.findings.empty());
  ASSERT_EQ(got.skipped.size(), 1U);
  EXPECT_EQ(got.skipped[0].why, "off for compute-bound tasks");
  EXPECT_EQ(run_tools(profile, {tool({BoundClass::compute})}).findings.size(), 1U);
}

TEST(RunTools, SmallKernelsAreSkippedAndRankIsByWorth) {
  Profile profile;
  profile.kernels = {kernel("small", 30), kernel("tiny", 1), kernel("big", 69)};
  Findings got = run_tools(profile, {tool()});
  ASSERT_EQ(got.findings.size(), 2U);
  EXPECT_EQ(got.findings[0].place.kernel, "big");
  EXPECT_NEAR(got.findings[0].predicted_gain, 1 / (0.31 + 0.345), 1e-9);
  EXPECT_NEAR(got.findings[0].numbers.at("share_pct"), 69, 1e-9);
  ASSERT_EQ(got.skipped.size(), 1U);
  EXPECT_EQ(got.skipped[0].kernel, "tiny");
  EXPECT_EQ(got.skipped[0].why, "takes 1 % of the time, under 2 %");
}

// A recurrent network launches one kernel a hundred times, each of 1 % of the time.
TEST(RunTools, EqualLaunchesCountTogether) {
  Profile profile;
  for (int i = 0; i < 100; ++i) profile.kernels.push_back(kernel("step", 1));
  profile.kernels[40].metrics[Metric::duration_us].value = 1.5;
  Findings got = run_tools(profile, {tool()});
  ASSERT_EQ(got.findings.size(), 1U);
  EXPECT_NEAR(got.findings[0].predicted_gain, 2, 1e-9);
  profile.kernels.push_back(kernel("step", 50));
  profile.kernels.back().grid = {2, 1, 1};  // another shape is another kernel
  EXPECT_EQ(run_tools(profile, {tool()}).findings.size(), 2U);
}

TEST(RunTools, SpeedOfLightBoundsTheGain) {
  Profile profile;
  profile.kernels = {kernel("k", 100)};
  profile.roofline.speed_of_light_ms = 0.08;
  Findings got = run_tools(profile, {tool()});
  EXPECT_NEAR(got.findings.at(0).predicted_gain, 1.25, 1e-9);
  EXPECT_NEAR(got.findings.at(0).numbers.at("kernel_gain"), 2, 1e-9);
  profile.roofline.speed_of_light_ms = 0.2;  // faster than light: the ceiling was wrong
  EXPECT_EQ(run_tools(profile, {tool()}).findings.at(0).predicted_gain, 1);
}

TEST(RunTools, WithoutDurationsKernelsCountAlike) {
  Profile profile;
  for (int i = 0; i < 100; ++i) profile.kernels.push_back(kernel("k" + std::to_string(i), 0));
  Findings got = run_tools(profile, {tool()});
  EXPECT_EQ(got.findings.size(), 100U);
  EXPECT_TRUE(got.skipped.empty());
}

TEST(RunTools, NothingFromNothing) {
  EXPECT_TRUE(run_tools(Profile{}, all_tools()).findings.empty());
  Profile profile;
  profile.kernels = {kernel("bare", 10)};
  for (BoundClass bound : {BoundClass::memory, BoundClass::compute, BoundClass::latency}) {
    profile.roofline.bound = bound;
    Findings got = run_tools(profile, all_tools());
    EXPECT_TRUE(got.findings.empty());
    EXPECT_EQ(got.skipped.size(), all_tools().size());
  }
}

TEST(FindingJson, BadOnesAreRefusedByName) {
  Json good = to_json(twice_as_fast({Profile{}, kernel("k", 1), 1}).at(0));
  ASSERT_TRUE(finding_from_json(good));
  auto refused = [&](const char* key, const Json& value, std::string_view named) {
    Json bad = good;
    bad[key] = value;
    auto got = finding_from_json(bad);
    ASSERT_FALSE(got) << key;
    EXPECT_TRUE(contains(got.error().message, named)) << got.error().message;
  };
  refused("severity", "grave", "grave");
  refused("tool", 3, "tool");
  refused("numbers", Json{{"dram_pct", "71"}}, "dram_pct");
  refused("numbers", Json::array(), "numbers");
  refused("words", Json{{"limiter", 1}}, "limiter");
  refused("predicted_gain", 0.5, "0.5");
  refused("confidence", 1.5, "1.5");
  EXPECT_FALSE(finding_from_json(Json::array()));
}

}  // namespace
}  // namespace kp
