#include "verdict/time_candidate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kp {
namespace {

TEST(TimeCandidate, WritingHasAFloorBeyondTheL2) {
  DeviceInfo device;
  device.l2_bytes = 50'000'000;
  EXPECT_EQ(write_floor_ms(1e9, device), 0);  // no peak known
  device.dram_peak_gbs = 1000;
  EXPECT_EQ(write_floor_ms(40e6, device), 0);  // may stay in the L2
  EXPECT_NEAR(write_floor_ms(1.05e9, device), 1.0, 1e-9);
}

TEST(TimeCandidate, GainsFromKeptMemoryAreToldFromNoise) {
  std::vector<double> fresh = {1.00, 1.01, 0.99, 1.02, 1.00};
  EXPECT_TRUE(gains_from_kept(fresh, {0.50, 0.51, 0.50}));
  EXPECT_FALSE(gains_from_kept(fresh, {0.95, 0.96, 0.95}));  // under a tenth
  EXPECT_FALSE(gains_from_kept(fresh, {1.01, 1.00, 1.02}));
  // A fresh run was as fast once: the spread explains it.
  EXPECT_FALSE(gains_from_kept({1.0, 1.0, 0.5}, {0.6, 0.6, 0.6}));
  // Microseconds: the events' own resolution.
  EXPECT_FALSE(gains_from_kept({0.0040, 0.0041, 0.0042}, {0.0032, 0.0031, 0.0033}));
  EXPECT_FALSE(gains_from_kept({}, {1}));
}

TEST(TimeCandidate, EnergyIsAMeanOverWindowsWithAnInterval) {
  Json body = {{"idle_w", 100},
               {"windows",
                {{{"calls", 1000}, {"joules", 400}, {"seconds", 1}},
                 {{"calls", 1000}, {"joules", 410}, {"seconds", 1}},
                 {{"calls", 1000}, {"joules", 390}, {"seconds", 1}}}}};
  Energy e = energy_of(body);
  EXPECT_EQ(e.windows, 3);
  EXPECT_NEAR(e.joules, 0.4, 1e-12);
  EXPECT_NEAR(e.power_w, 400, 1e-9);
  EXPECT_NEAR(e.above_idle_j, 0.3, 1e-12);
  // t(2) = 4.303 times the standard error 0.01 / sqrt(3)
  EXPECT_NEAR(e.ci95.high - e.joules, 4.303 * 0.01 / std::sqrt(3.0), 1e-6);
  EXPECT_EQ(energy_of(Json::object()).windows, 0);
}

}  // namespace
}  // namespace kp
