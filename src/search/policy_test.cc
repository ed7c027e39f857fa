#include "search/policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "search/ledger.h"

namespace kp {
namespace {

const SearchOptions kOptions;

TEST(Policy, RewardIsTheLogShareOfTheRoofline) {
  EXPECT_DOUBLE_EQ(log_reward(true, 2, 4), 0.5);
  EXPECT_DOUBLE_EQ(log_reward(true, 4, 4), 1);
  EXPECT_DOUBLE_EQ(log_reward(true, 1, 4), 0);
  EXPECT_DOUBLE_EQ(log_reward(true, 5, 4), 1) << "clipped above";
  EXPECT_DOUBLE_EQ(log_reward(true, 0.5, 4), 0) << "slower than the baseline";
  EXPECT_DOUBLE_EQ(log_reward(false, 100, 4), 0) << "the correctness wall";
  EXPECT_DOUBLE_EQ(log_reward(true, 0, 4), 0) << "not timed";
  EXPECT_DOUBLE_EQ(log_reward(true, 2, 1), 0);
  EXPECT_DOUBLE_EQ(log_reward(true, std::numeric_limits<double>::quiet_NaN(), 4), 0);
}

TEST(Policy, RewardGrowsWithSpeedUpAndStaysInBounds) {
  for (double limit : {1.05, 1.5, 3.0, 50.0}) {
    double last = 0;
    for (double s = 0.1; s < 100; s *= 1.1) {
      double r = log_reward(true, s, limit);
      ASSERT_GE(r, last);
      ASSERT_LE(r, 1);
      last = r;
    }
    EXPECT_DOUBLE_EQ(last, 1);
  }
}

TEST(Policy, SpeedUpAtTheRoofline) {
  EXPECT_DOUBLE_EQ(speedup_at_roofline(10, 2, kOptions), 5);
  EXPECT_DOUBLE_EQ(speedup_at_roofline(10, 0, kOptions), kOptions.assumed_speed_of_light);
  EXPECT_DOUBLE_EQ(speedup_at_roofline(0, 2, kOptions), kOptions.assumed_speed_of_light);
  EXPECT_DOUBLE_EQ(speedup_at_roofline(2, 2, kOptions), kOptions.least_speed_of_light);
  EXPECT_DOUBLE_EQ(speedup_at_roofline(1, 2, kOptions), kOptions.least_speed_of_light);
}

TEST(Policy, ValueMixesBestAndMeanAndFallsWithProposalsInFlight) {
  EXPECT_DOUBLE_EQ(node_value(1.0, 0.8, 4, 0, 0), 0.25);
  EXPECT_DOUBLE_EQ(node_value(1.0, 0.8, 4, 0, 1), 0.8);
  EXPECT_DOUBLE_EQ(node_value(1.0, 0.8, 4, 0, 0.5), 0.525);
  EXPECT_DOUBLE_EQ(node_value(0, 0, 0, 0, 0.5), 0);
  double last = 1;
  for (int in_flight = 0; in_flight < 5; ++in_flight) {
    double v = node_value(1.0, 0.8, 4, in_flight, 0.5);
    EXPECT_LT(v, last);
    last = v;
  }
}

TEST(Policy, PriorsSumToOneAndKeepTheOrder) {
  std::vector<double> weights = {1, 3, 0, 2};
  std::vector<double> p = priors(weights);
  EXPECT_DOUBLE_EQ(std::accumulate(p.begin(), p.end(), 0.0), 1);
  EXPECT_DOUBLE_EQ(p[1], 0.5);
  EXPECT_DOUBLE_EQ(p[2], 0);
  EXPECT_EQ(priors(std::vector<double>{0, 0}), (std::vector<double>{0.5, 0.5}));
  EXPECT_TRUE(priors(std::vector<double>{}).empty());
  EXPECT_DOUBLE_EQ(directive_weight(3, 0.5), 2);
  EXPECT_DOUBLE_EQ(directive_weight(0.5, 0.5), 1);
}

TEST(Policy, PuctPrefersFewVisitsHighPriorsAndHighValues) {
  EXPECT_GT(puct(0.5, 0.5, 10, 1, 1.4), puct(0.5, 0.5, 10, 2, 1.4));
  EXPECT_GT(puct(0.5, 0.6, 10, 1, 1.4), puct(0.5, 0.5, 10, 1, 1.4));
  EXPECT_GT(puct(0.6, 0.5, 10, 1, 1.4), puct(0.5, 0.5, 10, 1, 1.4));
  EXPECT_GT(puct(0.5, 0.5, 20, 1, 1.4), puct(0.5, 0.5, 10, 1, 1.4));
  EXPECT_DOUBLE_EQ(puct(0.5, 0.5, 10, 1, 0), 0.5);
}

TEST(Policy, WideningIsMonotoneAndNarrowerForBrokenNodes) {
  EXPECT_EQ(child_limit(true, 1, kOptions), 1);
  EXPECT_EQ(child_limit(true, 2, kOptions), 2);
  EXPECT_EQ(child_limit(true, 4, kOptions), 3);
  EXPECT_EQ(child_limit(false, 1, kOptions), 1);
  EXPECT_EQ(child_limit(true, 0, kOptions), 0);
  for (int n = 1; n < 200; ++n) {
    EXPECT_LE(child_limit(true, n, kOptions), child_limit(true, n + 1, kOptions));
    EXPECT_LE(child_limit(false, n, kOptions), child_limit(true, n, kOptions));
  }
  SearchOptions square;
  square.widen_c_correct = 2;
  EXPECT_EQ(child_limit(true, 4, square), 4) << "no rounding below the exact product";
}

TEST(Policy, TiesAreBrokenTheSameWayEachTime) {
  EXPECT_EQ(tie_break(1, 2, 3), tie_break(1, 2, 3));
  std::set<double> seen;
  for (std::uint64_t i = 0; i < 100; ++i) {
    double t = tie_break(1, i % 10, i);
    EXPECT_GE(t, 0);
    EXPECT_LT(t, 1);
    seen.insert(t);
  }
  EXPECT_EQ(seen.size(), 100U);
}

TEST(Ledger, ScalesPredictionsByWhatToolsKept) {
  Ledger ledger;
  EXPECT_DOUBLE_EQ(ledger.calibrated("a", 1.5, kOptions), 1.5) << "nothing known";
  ledger.record({"a", "low", "memory", 2.0, 1.0});
  ledger.record({"a", "low", "compute", 2.0, 1.0});
  ledger.record({"a", "low", "compute", 2.0, std::nullopt});
  ledger.record({"b", "low", "memory", 1.2, 2.4});
  ASSERT_EQ(ledger.rows().size(), 3U);
  EXPECT_EQ(ledger.rows()[1].followed, 2);
  EXPECT_EQ(ledger.rows()[1].measured, 1);
  // Two of (2 + trust 2) halved: the geometric mean of 1/2, 1/2, 1, 1.
  EXPECT_NEAR(ledger.calibrated("a", 3.0, kOptions), 3.0 * std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(ledger.calibrated("b", 1.2, kOptions), 1.2 * std::cbrt(2.0), 1e-12);
  EXPECT_DOUBLE_EQ(ledger.calibrated("a", 1.1, kOptions), 1.0) << "never below 1";
  EXPECT_DOUBLE_EQ(ledger.calibrated("c", 1.5, kOptions), 1.5) << "other tools do not matter";
}

TEST(Options, SurviveJson) {
  SearchOptions options;
  options.seeds = 3;
  options.seed_temperatures = {0.1};
  options.exploration = 0.7;
  options.budget = {5, 1000, 2.5};
  SearchOptions again = search_options_from_json(to_json(options));
  EXPECT_EQ(to_json(again), to_json(options));
  EXPECT_EQ(again.budget.tokens, 1000);
  EXPECT_EQ(to_json(search_options_from_json(Json::object())), to_json(SearchOptions{}));
}

TEST(Options, NonsenseIsNamed) {
  EXPECT_TRUE(check_options({}));
  auto message = [](auto change) {
    SearchOptions options;
    change(options);
    auto status = check_options(options);
    return status ? std::string() : status.error().message;
  };
  EXPECT_NE(message([](auto& o) { o.candidates = 0; }).find("candidates"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.budget.minutes = -1; }).find("minutes"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.seed_temperatures = {}; }).find("seed_temp"),
            std::string::npos);
  EXPECT_NE(message([](auto& o) { o.seed_temperatures = {9}; }).find("seed_temp"),
            std::string::npos);
  EXPECT_NE(message([](auto& o) { o.seeds = -1; }).find("seeds"), std::string::npos);
}

}  // namespace
}  // namespace kp
