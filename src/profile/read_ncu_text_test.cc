#include <gtest/gtest.h>

#include "base/text.h"
#include "profile/ncu_launch.h"
#include "profile/read.h"

namespace kp {
namespace {

// Hand-made after the layout of ncu's details page.
constexpr std::string_view kPage = R"(==PROF== Connected to process 4711 (/home/u/app)
==PROF== Profiling "gemm" - 0: 0%....50%....100% - 9 passes
size 128, ok
[4711] app@127.0.0.1
  void gemm<(int)16>(const float *, float *, int) (128, 128, 1)x(16, 16, 1), Context 1, Stream 7, Device 0, CC 9.0
    Section: GPU Speed Of Light Throughput
    ----------------------- ----------- ------------
    Metric Name             Metric Unit Metric Value
    ----------------------- ----------- ------------
    Elapsed Cycles                cycle    5,123,456
    Memory Throughput                 %        98.51
    DRAM Throughput                   %         0.30
    Duration                         ms         3.15
    L1/TEX Cache Throughput           %        n/a
    ----------------------- ----------- ------------

    INF   Memory is 98.51 % busy, look at the tables.

    Section: Memory Workload Analysis
    ----------------- ----------- ------------
    Metric Name       Metric Unit Metric Value
    ----------------- ----------- ------------
    Memory Throughput     Gbyte/s        14.45
    Registers Per Thread register/thread 32
    L2 Hit Rate                 %        (!) nan
    ----------------- ----------- ------------

  scale(float *), 2021-Mar-05 10:11:12, Context 1, Stream 7
    Section: Launch Statistics
    ---------------------------------------------------------------------- --------------- ------------------------------
    Registers Per Thread                                                   register/thread                             16
    DRAM Throughput                                                                      %                          70.66
    ---------------------------------------------------------------------- --------------- ------------------------------
)";

Profile read_ok(std::string_view text) {
  auto profile = read_ncu_text(text, "t.txt");
  EXPECT_TRUE(profile.has_value()) << (profile ? "" : profile.error().text());
  return profile.value_or(Profile{});
}

std::string notes(const Profile& p) {
  return join(p.notes, "\n");
}

TEST(ReadNcuText, LaunchesTablesAndBothLayouts) {
  EXPECT_TRUE(is_ncu_text(kPage));
  Profile p = read_ok(kPage);
  ASSERT_EQ(p.kernels.size(), 2U);
  const KernelProfile& gemm = p.kernels[0];
  EXPECT_EQ(gemm.kernel, "gemm");
  EXPECT_EQ(gemm.grid, (Dim3{128, 128, 1}));
  EXPECT_EQ(gemm.block, (Dim3{16, 16, 1}));
  EXPECT_DOUBLE_EQ(gemm.get(Metric::duration_us).value_or(-1), 3150);
  EXPECT_DOUBLE_EQ(gemm.get(Metric::memory_throughput_pct).value_or(-1), 98.51);
  EXPECT_DOUBLE_EQ(gemm.get(Metric::dram_gbs).value_or(-1), 14.45);
  EXPECT_DOUBLE_EQ(gemm.get(Metric::dram_throughput_pct).value_or(-1), 0.30);
  EXPECT_FALSE(gemm.get(Metric::l1_throughput_pct));
  EXPECT_TRUE(contains(notes(p), "n/a")) << notes(p);
  EXPECT_FALSE(gemm.get(Metric::l2_hit_pct));
  EXPECT_TRUE(contains(notes(p), "(!) nan")) << notes(p);
  EXPECT_FALSE(gemm.get(Metric::registers_per_thread));  // a row out of its columns
  EXPECT_TRUE(contains(notes(p), "passed over 1 lines")) << notes(p);
  EXPECT_EQ(p.kernels[1].kernel, "scale");
  EXPECT_DOUBLE_EQ(p.kernels[1].get(Metric::registers_per_thread).value_or(-1), 16);
  EXPECT_DOUBLE_EQ(p.kernels[1].get(Metric::dram_throughput_pct).value_or(-1), 70.66);
}

TEST(ReadNcuText, LineEndsOfWindowsAndDecimalCommas) {
  Profile crlf = read_ok(replace_all(std::string(kPage), "\n", "\r\n"));
  EXPECT_EQ(crlf.kernels.size(), 2U);
  EXPECT_DOUBLE_EQ(crlf.kernels[0].get(Metric::dram_gbs).value_or(-1), 14.45);
  std::string german = replace_all(std::string(kPage), "       98.51", "      98,514");
  german = replace_all(german, "        0.30", "        0,30");
  Profile p = read_ok(german);
  EXPECT_DOUBLE_EQ(p.kernels[0].get(Metric::dram_throughput_pct).value_or(-1), 0.30);
  EXPECT_FALSE(p.kernels[0].get(Metric::memory_throughput_pct));
  EXPECT_TRUE(contains(notes(p), "two ways")) << notes(p);
}

TEST(ReadNcuText, CutAnywhereGivesNoWrongNumber) {
  Profile whole = read_ok(kPage);
  for (std::size_t size = 0; size < kPage.size(); ++size) {
    auto part = read_ncu_text(kPage.substr(0, size), "cut.txt");
    if (!part) continue;
    ASSERT_LE(part->kernels.size(), whole.kernels.size());
    for (std::size_t k = 0; k < part->kernels.size(); ++k) {
      for (const auto& [metric, measured] : part->kernels[k].metrics)
        ASSERT_EQ(measured.value, whole.kernels[k].metrics[metric].value) << size;
    }
  }
}

TEST(ReadNcuText, SummariesAndPagesWithoutValuesAreErrors) {
  auto summary = read_ncu_text(
      "  f(int) (2, 1, 1)x(4, 1, 1), Context 1, Stream 7, Device 0, CC 9.0, Invocations 2\n"
      "    --------------- ----------- -------- -------- --------\n"
      "    Metric Name     Metric Unit  Minimum  Maximum  Average\n"
      "    --------------- ----------- -------- -------- --------\n"
      "    DRAM Throughput           %     1.00     3.00     2.00\n"
      "    --------------- ----------- -------- -------- --------\n",
      "t.txt");
  ASSERT_FALSE(summary);
  EXPECT_TRUE(contains(summary.error().text(), "--print-summary")) << summary.error().text();
  EXPECT_FALSE(is_ncu_text("  hello, Context is all\n------- ---- ---\n"));
}

TEST(NcuLaunch, FormsOfTheLine) {
  EXPECT_FALSE(ncu_launch_of("f(int), Context 1, Stream 7"));      // not indented
  EXPECT_FALSE(ncu_launch_of("    f(int), Context 1, Stream 7"));  // too far
  EXPECT_FALSE(ncu_launch_of("  f(int), Context 1"));
  auto plain = ncu_launch_of("  f(int), Context 1, Stream 7, Device 0, CC 8.0");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->signature, "f(int)");
  EXPECT_EQ(plain->grid, (Dim3{0, 0, 0}));
  EXPECT_EQ(parse_dim3("(1, 2, 3)"), (Dim3{1, 2, 3}));
  EXPECT_EQ(parse_dim3("(1, 2, -3)"), (Dim3{0, 0, 0}));
  EXPECT_EQ(parse_dim3("(1, 2, 99999999999)"), (Dim3{0, 0, 0}));
}

}  // namespace
}  // namespace kp
