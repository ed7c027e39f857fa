#include "device/nvml.h"

#include <gtest/gtest.h>

namespace kp {
namespace {

TEST(Nvml, NamesWhatHoldsTheClocksLow) {
  EXPECT_TRUE(throttle_reasons(0x1 | 0x2 | 0x10 | 0x100).empty());  // idle, the user's settings
  EXPECT_EQ(throttle_reasons(0x4 | 0x40),
            (std::vector<std::string>{"power cap", "thermal (hardware)"}));
}

TEST(Nvml, ThePowerCapAloneDoesNotSpoilASample) {
  Telemetry t;
  t.throttle = throttle_reasons(0x4);
  EXPECT_FALSE(t.slowed());
  for (std::uint64_t bit : {0x8, 0x20, 0x40, 0x80}) {
    t.throttle = throttle_reasons(0x4 | bit);
    EXPECT_TRUE(t.slowed()) << bit;
  }
}

TEST(Nvml, TelemetrySurvivesJson) {
  Telemetry t{1980, 3201, 41, 350.5, {"power cap"}};
  Telemetry back = telemetry_from_json(to_json(t));
  EXPECT_EQ(back.sm_mhz, 1980);
  EXPECT_EQ(back.memory_mhz, 3201);
  EXPECT_EQ(back.temperature_c, 41);
  EXPECT_EQ(back.power_w, 350.5);
  EXPECT_EQ(back.throttle, t.throttle);
}

}  // namespace
}  // namespace kp
