#include "verdict/gain.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "verdict/rounds.h"
#include "verdict/timing.h"

namespace kp {
namespace {

// A device as it is met: the clock wanders by percents over seconds, samples scatter with a long
// tail, and each load of a module has an offset of its own.
class Bench {
 public:
  explicit Bench(std::uint64_t seed) : rng_(seed) {}

  double normal() {
    double u = std::max(rng_.uniform(), 1e-12);
    return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * rng_.uniform());
  }

  TakeSamples taker(double ms, double offset_sd) {
    double offset = 1 + offset_sd * normal();
    return [this, ms, offset](int count) -> Result<std::optional<std::vector<double>>> {
      std::vector<double> samples;
      for (int i = 0; i < count; ++i) {
        drift_ = 0.999 * drift_ + 0.0005 * normal();
        double tail = rng_.below(20) == 0 ? 0.05 * rng_.uniform() : 0;
        samples.push_back(ms * offset * (1 + drift_ + tail + 0.004 * std::fabs(normal())));
      }
      return std::optional(std::move(samples));
    };
  }

  Verdict judge(double ms, double baseline_ms) {
    RoundPolicy policy;
    policy.budget_s = 1e9;
    policy.max_a_round = 5;
    policy.max_rounds = 10;
    Sides sides{taker(ms, 0.001), taker(ms * 0.999, 0), taker(baseline_ms, 0)};
    auto samples = measure_rounds(policy, sides);
    EXPECT_TRUE(samples && *samples);
    Verdict v;
    v.timing = summarize((*samples)->best(), "stream", "cold");
    v.baselines = {{"eager", summarize((*samples)->baseline, "eager", "cold")}};
    v.speedup_ci95 = ratio_interval((*samples)->baseline, (*samples)->best());
    return v;
  }

 private:
  Rng rng_;
  double drift_ = 0;
};

TEST(Gain, IdenticalKernelsAreNeverAnnouncedInAThousandPairs) {
  Bench bench(2026);
  int announced = 0;
  for (int i = 0; i < 1000; ++i) {
    Verdict before = bench.judge(0.1, 0.25);
    Verdict now = bench.judge(0.1, 0.25);
    if (gain(before, now)->real) ++announced;
  }
  EXPECT_LT(announced, 10);  // 1 %
}

TEST(Gain, ThreePercentAreFoundNearlyAlways) {
  Bench bench(7);
  int announced = 0;
  for (int i = 0; i < 200; ++i) {
    Verdict before = bench.judge(0.1, 0.25);
    Verdict now = bench.judge(0.097, 0.25);
    if (gain(before, now)->real) ++announced;
  }
  EXPECT_GT(announced, 180);
}

TEST(Gain, DriftOfTheDeviceCancels) {
  Bench bench(11);
  Verdict before = bench.judge(0.1, 0.25);
  Verdict now = bench.judge(0.112, 0.28);  // everything got 12 % slower in between
  auto g = gain(before, now);
  ASSERT_TRUE(g);
  EXPECT_NEAR(g->ratio, 1, 0.01);
  EXPECT_FALSE(g->real);
}

TEST(Gain, NeedsTwoCorrectAndTimedVerdicts) {
  Bench bench(3);
  Verdict good = bench.judge(1, 2);
  Verdict untimed;
  EXPECT_FALSE(gain(untimed, good));
  Verdict wrong = good;
  wrong.outcome = Outcome::incorrect;
  EXPECT_FALSE(gain(good, wrong));
  Verdict other = good;  // against another baseline: by time then
  other.baselines.front().name = "reference";
  EXPECT_TRUE(gain(good, other));
}

TEST(Rounds, ASideThatBreaksEndsThem) {
  int left = 5;
  TakeSamples breaks = [&](int count) -> Result<std::optional<std::vector<double>>> {
    if (--left == 0) return std::optional<std::vector<double>>();
    return std::optional(std::vector<double>(static_cast<std::size_t>(count), 1.0));
  };
  auto samples = measure_rounds({}, {breaks, {}, {}});
  ASSERT_TRUE(samples);
  EXPECT_FALSE(*samples);
}

TEST(Rounds, TheSlowerWayOfLaunchingIsDropped) {
  int streams = 0, graphs = 0;
  auto constant = [](double ms, int& calls) {
    return [ms, &calls](int count) -> Result<std::optional<std::vector<double>>> {
      ++calls;
      return std::optional(std::vector<double>(static_cast<std::size_t>(count), ms));
    };
  };
  int unused = 0;
  RoundPolicy policy;
  policy.min_rounds = 6;
  auto samples =
      measure_rounds(policy, {constant(2, streams), constant(1, graphs), constant(5, unused)});
  ASSERT_TRUE(samples && *samples);
  EXPECT_EQ(streams, 2 + 2);  // warm-up, then two rounds
  EXPECT_GE(graphs, 2 + 6);
  EXPECT_EQ(median((*samples)->best()), 1);
}

}  // namespace
}  // namespace kp
