#include "profile/roofline.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "profile/read.h"

namespace kp {
namespace {

Ceilings h200() {
  Ceilings c;
  c.dram_gbs = 4000;
  c.fp32_tflops = 50;
  c.fp64_tflops = 25;
  c.tf32_tflops = 300;
  c.bf16_tflops = 600;
  c.fp16_tflops = 650;
  c.launch_us = 2;
  return c;
}

TEST(Roofline, MemoryBound) {
  Roofline r = roofline_of({4e9, 0, 1e9}, h200(), Precision::strict);
  EXPECT_NEAR(r.memory_ms, 1.0, 1e-12);
  EXPECT_NEAR(r.compute_ms, 0.02, 1e-12);
  EXPECT_NEAR(r.speed_of_light_ms, 1.0, 1e-12);
  EXPECT_EQ(r.bound, BoundClass::memory);
  EXPECT_EQ(r.by_theory, BoundClass::memory);
  EXPECT_TRUE(contains(r.why, "4000 GB/s")) << r.why;
}

TEST(Roofline, PrecisionDecidesTheMatrixCeiling) {
  Work work{1e6, 600e9, 0};
  EXPECT_NEAR(roofline_of(work, h200(), Precision::strict).compute_ms, 6.0, 1e-9);  // 3xTF32
  EXPECT_NEAR(roofline_of(work, h200(), Precision::tf32).compute_ms, 2.0, 1e-9);
  EXPECT_NEAR(roofline_of(work, h200(), Precision::half).compute_ms, 600e9 / 650e12 * 1e3, 1e-9);
  EXPECT_NEAR(roofline_of(work, h200(), Precision::strict, DType::bf16).compute_ms, 1.0, 1e-9);
  EXPECT_NEAR(roofline_of(work, h200(), Precision::strict, DType::f64).compute_ms, 24.0, 1e-9);
  Ceilings slow = h200();
  slow.tf32_tflops = 120;  // a third is under FP32
  EXPECT_NEAR(roofline_of(work, slow, Precision::strict).compute_ms, 12.0, 1e-9);
  EXPECT_EQ(roofline_of(work, h200(), Precision::strict).bound, BoundClass::compute);
}

TEST(Roofline, AFewLaunchesAreLatencyBound) {
  Roofline r = roofline_of({4e6, 0, 0}, h200(), Precision::strict);  // 1 us
  EXPECT_EQ(r.bound, BoundClass::latency);
  EXPECT_NEAR(r.speed_of_light_ms, 0.002, 1e-12);  // a launch
  EXPECT_TRUE(contains(r.why, "2 us")) << r.why;
}

TEST(Roofline, MissingCeilingsLeaveTheClassOpen) {
  Roofline nothing = roofline_of({4e9, 0, 0}, {}, Precision::strict);
  EXPECT_FALSE(nothing.by_theory);
  EXPECT_EQ(nothing.speed_of_light_ms, 0);
  EXPECT_TRUE(contains(nothing.why, "DRAM bandwidth was not measured")) << nothing.why;
  Ceilings no_fp32 = h200();
  no_fp32.fp32_tflops = 0;
  Roofline half_known = roofline_of({4e9, 0, 1e9}, no_fp32, Precision::strict);
  EXPECT_FALSE(half_known.by_theory);
  EXPECT_NEAR(half_known.speed_of_light_ms, 1.0, 1e-12);  // still a lower bound
  EXPECT_FALSE(roofline_of({0, 1e9, 0}, h200(), Precision::strict).by_theory);
}

TEST(Roofline, MeasurementOfTheRecording) {
  Profile p =
      read_profile_files({fs::path(KERNELPRO_SOURCE_DIR) / "examples/recorded/ncu_raw_full.csv"})
          .value();
  add_measurement(p);
  EXPECT_EQ(p.roofline.by_measurement, BoundClass::memory);  // gemm_naive: 65.65 % and 98.51 %
  EXPECT_EQ(p.roofline.bound, BoundClass::memory);
  EXPECT_TRUE(contains(p.roofline.why, "gemm_naive")) << p.roofline.why;
  EXPECT_TRUE(contains(p.roofline.why, "98.51")) << p.roofline.why;
}

Profile measured(double sm, double memory, double gbs) {
  Profile p;
  p.ceilings = h200();
  KernelProfile k;
  k.kernel = "f";
  k.metrics[Metric::duration_us] = {10, "t"};
  k.metrics[Metric::sm_throughput_pct] = {sm, "sm"};
  k.metrics[Metric::memory_throughput_pct] = {memory, "m"};
  k.metrics[Metric::dram_gbs] = {gbs, "d"};
  p.kernels.push_back(k);
  return p;
}

TEST(Roofline, MeasuredClasses) {
  auto bound = [](Profile p) {
    add_measurement(p);
    return p.roofline.bound;
  };
  EXPECT_EQ(bound(measured(59, 59, 0)), BoundClass::latency);
  EXPECT_EQ(bound(measured(80, 59, 0)), BoundClass::compute);
  EXPECT_EQ(bound(measured(30, 61, 0)), BoundClass::memory);
  // 55 % of the data sheet, 62.5 % of what the device can do.
  EXPECT_EQ(bound(measured(30, 55, 2500)), BoundClass::memory);
}

TEST(Roofline, TheoryWinsAndSaysSo) {
  Profile p = measured(20, 30, 0);
  p.roofline = roofline_of({4e9, 0, 0}, h200(), Precision::strict);
  add_measurement(p);
  EXPECT_EQ(p.roofline.by_measurement, BoundClass::latency);
  EXPECT_EQ(p.roofline.bound, BoundClass::memory);
  EXPECT_TRUE(contains(p.roofline.why, "theory decides")) << p.roofline.why;
  Profile empty;
  add_measurement(empty);
  EXPECT_FALSE(empty.roofline.by_measurement);
  EXPECT_TRUE(contains(empty.roofline.why, "Nothing was measured")) << empty.roofline.why;
}

}  // namespace
}  // namespace kp
