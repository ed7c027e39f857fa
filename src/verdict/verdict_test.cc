#include "verdict/verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kp {
namespace {

Timing timing_of(double median_ms, const char* mode) {
  Timing t;
  t.median_ms = median_ms;
  t.mad_ms = 0.01;
  t.ci95_ms = {median_ms - 0.02, median_ms + 0.03};
  t.samples = 42;
  t.mode = mode;
  return t;
}

Verdict sample() {
  Verdict v;
  v.reason = "a \"reason\"";
  v.detail = "line 1\nline 2";
  v.seeds = 3;
  v.accuracy_class = "tf32";
  v.timing = timing_of(0.5, "graph");
  v.timings = {timing_of(0.7, "stream"), timing_of(0.5, "graph")};
  v.baselines = {{"eager_tf32", timing_of(1.0, "eager")}, {"eager", timing_of(2.0, "eager")}};
  LeafError leaf;
  leaf.tensor = "out";
  leaf.max_abs = std::numeric_limits<double>::infinity();
  leaf.rel_l2 = 0.25;
  leaf.eager_max_abs = 1e-6;
  leaf.eager_rel_l2 = 1e-7;
  leaf.outside = 0.5;
  leaf.worst_index = {3, 17};
  leaf.expected = -std::numeric_limits<double>::infinity();
  leaf.actual = std::numeric_limits<double>::quiet_NaN();
  leaf.reason = "out[3,17]: ...";
  v.leaves = {leaf};
  v.stages = {{"build", 0.5}, {"run", 0.01}};
  return v;
}

TEST(Verdict, GoesThroughJsonAndBack) {
  Verdict v = sample();
  Json json = to_json(v);
  auto text = parse_json(dump_json(json), "verdict");  // the text itself is valid JSON
  ASSERT_TRUE(text) << text.error().text();
  auto back = verdict_from_json(*text);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(dump_json(to_json(*back)), dump_json(json));
  EXPECT_TRUE(std::isnan(back->leaves[0].actual));
  EXPECT_EQ(back->leaves[0].expected, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(back->leaves[0].worst_index, (std::vector<std::int64_t>{3, 17}));
  EXPECT_DOUBLE_EQ(back->timing->ci95_ms.high, 0.53);
}

TEST(Verdict, SpeedupIsTheBaselineOverOurs) {
  Verdict v = sample();
  EXPECT_DOUBLE_EQ(v.speedup().value_or(0), 2.0);  // the first baseline
  EXPECT_DOUBLE_EQ(v.speedup("eager").value_or(0), 4.0);
  EXPECT_FALSE(v.speedup("torch.compile"));
  v.timing.reset();
  EXPECT_FALSE(v.speedup());
  v = sample();
  v.baselines.clear();
  EXPECT_FALSE(v.speedup());
}

TEST(Verdict, EveryOutcomeHasAName) {
  for (int i = 0; i <= static_cast<int>(Outcome::dishonest); ++i) {
    auto outcome = static_cast<Outcome>(i);
    auto back = parse_outcome(name_of(outcome));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, outcome);
  }
}

TEST(Verdict, BadJsonIsAnError) {
  EXPECT_FALSE(verdict_from_json(Json::array()));
  EXPECT_FALSE(verdict_from_json(Json::object()));
  auto unknown = verdict_from_json({{"outcome", "splendid"}});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("splendid"), std::string::npos);
  // Members of other types than expected are left at their defaults.
  auto odd = verdict_from_json({{"outcome", "crashed"},
                                {"leaves", 3},
                                {"timing", "fast"},
                                {"stages", {1, {"build", "long"}}},
                                {"build", Json::array()}});
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->outcome, Outcome::crashed);
  EXPECT_TRUE(odd->leaves.empty() && !odd->timing && odd->stages.empty() && !odd->build);
}

}  // namespace
}  // namespace kp
