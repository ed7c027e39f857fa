#include <gtest/gtest.h>

#include "base/text.h"
#include "profile/read.h"

namespace kp {
namespace {

const fs::path kRecorded = fs::path(KERNELPRO_SOURCE_DIR) / "examples/recorded";

std::string recorded(const char* name) {
  return read_file(kRecorded / name).value();
}

Profile read_ok(std::string_view text) {
  auto profile = read_ncu_csv(text, "t.csv");
  EXPECT_TRUE(profile.has_value()) << (profile ? "" : profile.error().text());
  return profile.value_or(Profile{});
}

std::string all_notes(const Profile& p) {
  return join(p.notes, "\n");
}

// Every number was read from the file by eye.
TEST(ReadNcu, RawPageOfAnH200) {
  Profile p = read_ok(recorded("ncu_raw_full.csv"));
  ASSERT_EQ(p.kernels.size(), 6U);
  const KernelProfile& scale = p.kernels[0];
  const KernelProfile& gemm = p.kernels[1];
  const KernelProfile& strided = p.kernels[2];
  EXPECT_EQ(scale.kernel, "scale_add");
  EXPECT_EQ(gemm.kernel, "gemm_naive");
  EXPECT_EQ(strided.kernel, "strided");
  EXPECT_EQ(gemm.grid, (Dim3{128, 128, 1}));
  EXPECT_EQ(gemm.block, (Dim3{16, 16, 1}));
  struct Row {
    Metric metric;
    double scale, gemm, strided;
  };
  const Row rows[] = {
      {Metric::duration_us, 231.904, 3154.656, 1180.672},
      {Metric::sm_throughput_pct, 41.60, 65.65, 7.63},
      {Metric::memory_throughput_pct, 71.10, 98.51, 80.33},
      {Metric::dram_throughput_pct, 71.10, 0.30, 80.33},
      {Metric::dram_bytes_read, 536903680, 33576960, 4295063552},
      {Metric::dram_bytes_write, 256436224, 12085504, 268873728},
      {Metric::dram_gbs, 3420.98413136470, 14.47462544252, 3865.54206418040},
      {Metric::l2_throughput_pct, 82.28, 19.04, 96.48},
      {Metric::l2_hit_pct, 33.39, 98.86, 8.60},
      {Metric::l2_bytes, 25165824.0 * 32, 128646743.0 * 32, 75497472.0 * 32},
      {Metric::l1_throughput_pct, 18.70, 99.38, 14.43},
      {Metric::l1_hit_pct, 0, 87.88, 0},
      {Metric::global_load_requests, 4194304, 536870912, 2097152},
      {Metric::global_load_sectors, 16777216, 1073741824, 67108864},
      {Metric::global_store_sectors, 8388608, 524350, 8388608},
      {Metric::instructions_executed, 41943040, 1230241792, 94371840},
      {Metric::ipc_active, 0.70, 1.52, 0.31},
      {Metric::issue_active_pct, 17.50, 37.92, 7.69},
      {Metric::eligible_warps, 0.22, 1.86, 0.10},
      {Metric::occupancy_achieved_pct, 74.33, 98.31, 81.55},
      {Metric::occupancy_theoretical_pct, 100, 100, 100},
      {Metric::occupancy_limit_registers, 16, 8, 10},
      {Metric::waves_per_sm, 248.24, 15.52, 248.24},
      {Metric::registers_per_thread, 16, 32, 18},
      {Metric::threads_per_block, 256, 256, 256},
      {Metric::grid_blocks, 262144, 16384, 262144},
      {Metric::fp32_pipe_pct, 7.00, 25.87, 2.38},
      {Metric::stall_long_scoreboard, 56.01, 21.72, 150.16},
      {Metric::stall_lg_throttle, 0, 10.21, 0},
      {Metric::stall_not_selected, 0.25, 3.92, 0.30},
      {Metric::stall_gmma, 0, 0, 0},
      {Metric::warp_cycles_per_issue, 66.84, 41.48, 170.10},
  };
  for (const Row& row : rows) {
    EXPECT_DOUBLE_EQ(scale.get(row.metric).value_or(-1), row.scale) << info_of(row.metric).name;
    EXPECT_DOUBLE_EQ(gemm.get(row.metric).value_or(-1), row.gemm) << info_of(row.metric).name;
    EXPECT_DOUBLE_EQ(strided.get(row.metric).value_or(-1), row.strided) << info_of(row.metric).name;
  }
  EXPECT_FALSE(scale.get(Metric::ffma_instructions));  // the full set has no such sum
  ASSERT_TRUE(p.device);
  EXPECT_EQ(p.device->name, "NVIDIA H200");
  EXPECT_EQ(p.device->sms, 132);
  EXPECT_EQ(p.device->l2_bytes, 62914560);
  EXPECT_TRUE(p.notes.empty()) << all_notes(p);
  EXPECT_EQ(p.dominant(), &p.kernels[1]);
}

TEST(ReadNcu, DetailsPageOfAnH200) {
  Profile p = read_ok(recorded("ncu_details.csv"));
  ASSERT_EQ(p.kernels.size(), 6U);
  const KernelProfile& scale = p.kernels[0];
  const KernelProfile& gemm = p.kernels[1];
  EXPECT_EQ(gemm.kernel, "gemm_naive");
  EXPECT_DOUBLE_EQ(scale.get(Metric::duration_us).value_or(-1), 233.34);
  EXPECT_DOUBLE_EQ(gemm.get(Metric::duration_us).value_or(-1), 3150);
  // One display name, two metrics: the unit tells them apart.
  EXPECT_DOUBLE_EQ(scale.get(Metric::memory_throughput_pct).value_or(-1), 70.66);
  EXPECT_DOUBLE_EQ(scale.get(Metric::dram_gbs).value_or(-1), 3400);
  EXPECT_DOUBLE_EQ(gemm.get(Metric::dram_gbs).value_or(-1), 14.45);
  EXPECT_DOUBLE_EQ(scale.get(Metric::dram_throughput_pct).value_or(-1), 70.66);
  EXPECT_DOUBLE_EQ(gemm.get(Metric::registers_per_thread).value_or(-1), 32);
  EXPECT_DOUBLE_EQ(gemm.get(Metric::instructions_executed).value_or(-1), 1230241792);
  EXPECT_DOUBLE_EQ(scale.get(Metric::issue_active_pct).value_or(-1), 17.38);
  EXPECT_DOUBLE_EQ(scale.get(Metric::occupancy_limit_blocks).value_or(-1), 32);
  EXPECT_TRUE(p.notes.empty()) << all_notes(p);
}

constexpr std::string_view kHeader =
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\","
    "\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"gpu__time_duration.sum\","
    "\"dram__bytes_read.sum\",\"lts__t_sector_hit_rate.pct\"\n";

std::string units(std::string_view time, std::string_view bytes) {
  return "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"" + std::string(time) + "\",\"" +
         std::string(bytes) + "\",\"%\"\n";
}

std::string row(std::string_view kernel, std::string_view time, std::string_view bytes,
                std::string_view hit) {
  auto q = [](std::string_view s) { return "\"" + std::string(s) + "\""; };
  return "\"0\",\"1\",\"p\",\"h\"," + q(kernel) +
         ",\"1\",\"7\",\"(256, 1, 1)\",\"(2, 1, 1)\",\"0\"," + "\"9.0\"," + q(time) + "," +
         q(bytes) + "," + q(hit) + "\n";
}

std::string table(std::string_view time, std::string_view bytes, std::string_view hit) {
  return std::string(kHeader) + units("us", "Mbyte") + row("f(int)", time, bytes, hit);
}

TEST(ReadNcu, UnitsAreConverted) {
  struct Case {
    const char *time, *bytes;
    double us, read;
  };
  const Case cases[] = {{"ns", "byte", 0.0015, 2},        {"nsecond", "Kbyte", 0.0015, 2e3},
                        {"us", "Mbyte", 1.5, 2e6},        {"usecond", "Gbyte", 1.5, 2e9},
                        {"msecond", "Tbyte", 1500, 2e12}, {"second", "sector", 1.5e6, 64}};
  for (const Case& c : cases) {
    Profile p = read_ok(std::string(kHeader) + units(c.time, c.bytes) + row("f", "1.5", "2", "3"));
    ASSERT_EQ(p.kernels.size(), 1U);
    EXPECT_DOUBLE_EQ(p.kernels[0].get(Metric::duration_us).value_or(-1), c.us) << c.time;
    EXPECT_DOUBLE_EQ(p.kernels[0].get(Metric::dram_bytes_read).value_or(-1), c.read) << c.bytes;
  }
}

TEST(ReadNcu, UnknownUnitIsRefusedByName) {
  Profile p = read_ok(std::string(kHeader) + units("fortnight", "") + row("f", "1.5", "2", "3"));
  ASSERT_EQ(p.kernels.size(), 1U);
  EXPECT_EQ(p.kernels[0].metrics.size(), 1U);
  EXPECT_TRUE(contains(all_notes(p), "duration_us")) << all_notes(p);
  EXPECT_TRUE(contains(all_notes(p), "fortnight"));
  EXPECT_TRUE(contains(all_notes(p), "dram__bytes_read.sum"));
}

TEST(ReadNcu, NoNumbersAreRefusedByName) {
  for (const char* bad : {"n/a", "(!) nan", "nan", "inf", "", "12 (1;2;3)", "1,23,456", "12abc",
                          "1 234", "-5", "0x10", "1e9999"}) {
    Profile p = read_ok(table("7", bad, "3"));
    ASSERT_EQ(p.kernels.size(), 1U) << bad;
    EXPECT_FALSE(p.kernels[0].get(Metric::dram_bytes_read)) << bad;
    EXPECT_DOUBLE_EQ(p.kernels[0].get(Metric::duration_us).value_or(-1), 7) << bad;
    EXPECT_TRUE(contains(all_notes(p), "dram_bytes_read")) << bad;
    EXPECT_TRUE(contains(all_notes(p), "f, launch 0")) << all_notes(p);
  }
}

TEST(ReadNcu, ThousandsSeparators) {
  Profile p = read_ok(table("1,234.50", "12,345,678", "3"));
  EXPECT_DOUBLE_EQ(p.kernels[0].get(Metric::duration_us).value_or(-1), 1234.5);
  EXPECT_DOUBLE_EQ(p.kernels[0].get(Metric::dram_bytes_read).value_or(-1), 12345678e6);
  EXPECT_DOUBLE_EQ(
      read_ok(table("1,234", "1", "3")).kernels[0].get(Metric::duration_us).value_or(-1), 1234);
  EXPECT_DOUBLE_EQ(
      read_ok(table("1.5e+3", "1", "3")).kernels[0].get(Metric::duration_us).value_or(-1), 1500);
}

TEST(ReadNcu, DecimalCommasAreReadOnlyWhereOneReadingIsPossible) {
  Profile p = read_ok(table("1.234,56", "1.234", "0,17"));
  EXPECT_DOUBLE_EQ(p.kernels[0].get(Metric::duration_us).value_or(-1), 1234.56);
  EXPECT_DOUBLE_EQ(p.kernels[0].get(Metric::l2_hit_pct).value_or(-1), 0.17);
  EXPECT_FALSE(p.kernels[0].get(Metric::dram_bytes_read));  // 1.234 or 1234?
  EXPECT_TRUE(contains(all_notes(p), "two ways")) << all_notes(p);
}

TEST(ReadNcu, TextAroundAndBetween) {
  std::string text =
      "\xef\xbb\xbf==PROF== Connected to process 5 (/x)\nresult: 1,2,\"3\nID, done\n" +
      std::string(kHeader) + units("us", "Mbyte") + row("f", "1", "2", "3") +
      "==PROF== Disconnected from process 5\n\"unfinished text, of the program\n" +
      "all 5, fine\n" + row("void g<(int)16, h<int>>(const float *, int)", "4", "5", "6");
  Profile p = read_ok(text);
  ASSERT_EQ(p.kernels.size(), 2U) << all_notes(p);
  EXPECT_EQ(p.kernels[1].kernel, "g");
  EXPECT_DOUBLE_EQ(p.kernels[1].get(Metric::dram_bytes_read).value_or(-1), 5e6);
  EXPECT_TRUE(contains(all_notes(p), "passed over")) << all_notes(p);
  Profile crlf = read_ok(replace_all(text, "\n", "\r\n"));
  ASSERT_EQ(crlf.kernels.size(), 2U);
  EXPECT_DOUBLE_EQ(crlf.kernels[1].get(Metric::l2_hit_pct).value_or(-1), 6);
}

TEST(ReadNcu, QuotesAndLineBreaksInNames) {
  Profile p = read_ok(table("1", "2", "3") + row("k<\"\"a,b\"\",\n2>(int)", "4", "5", "6"));
  ASSERT_EQ(p.kernels.size(), 2U) << all_notes(p);
  EXPECT_EQ(p.kernels[1].kernel, "k");
}

TEST(ReadNcu, CutRowIsDroppedWithANote) {
  std::string text = table("1", "2", "3") + row("g", "4", "5", "6");
  Profile p = read_ok(std::string_view(text).substr(0, text.size() - 8));
  ASSERT_EQ(p.kernels.size(), 1U);
  EXPECT_TRUE(contains(all_notes(p), "cut short")) << all_notes(p);
  // Unquoted numbers: the last one may have lost digits.
  std::string plain = replace_all(text, "\"", "");
  plain = replace_all(plain, "(256, 1, 1),(2, 1, 1)", "b,g");
  Profile q = read_ok(std::string_view(plain).substr(0, plain.size() - 1));
  ASSERT_EQ(q.kernels.size(), 2U) << all_notes(q);
  EXPECT_DOUBLE_EQ(q.kernels[1].get(Metric::duration_us).value_or(-1), 4);
  EXPECT_FALSE(q.kernels[1].get(Metric::l2_hit_pct));
  EXPECT_TRUE(contains(all_notes(q), "ends inside the row")) << all_notes(q);
}

TEST(ReadNcu, WhatIsNoTableIsAnErrorWithAHint) {
  auto error = [](std::string_view text) {
    auto r = read_ncu_csv(text, "t.csv");
    EXPECT_FALSE(r.has_value());
    return r ? std::string() : r.error().text();
  };
  EXPECT_TRUE(contains(error(""), "--page raw"));
  EXPECT_TRUE(contains(error("a,b\n1,2\n"), "t.csv"));
  EXPECT_TRUE(contains(error(kHeader), "no whole row"));
  EXPECT_TRUE(contains(error("NVR\x01\x02"), "ncu --import"));
  EXPECT_TRUE(contains(error("\xff\xfe\"\0I\0"), "UTF-8"));
  EXPECT_TRUE(contains(error("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n"),
                       "SYS_ADMIN"));
  EXPECT_TRUE(
      contains(error("\"ID\",\"Kernel Name\",\"Invocations\",\"Section Name\",\"Metric Name\","
                     "\"Metric Unit\",\"Minimum\",\"Maximum\",\"Average\"\n"),
               "--print-summary"));
}

// A file cut anywhere gives no value that the whole file does not give.
void cut_everywhere(const char* name, std::size_t step) {
  std::string text = recorded(name);
  Profile whole = read_ok(text);
  for (std::size_t size = 0; size < text.size(); size += step) {
    auto part = read_ncu_csv(std::string_view(text).substr(0, size), "cut.csv");
    if (!part) continue;
    ASSERT_LE(part->kernels.size(), whole.kernels.size()) << size;
    for (std::size_t k = 0; k < part->kernels.size(); ++k) {
      EXPECT_EQ(part->kernels[k].kernel, whole.kernels[k].kernel) << size;
      for (const auto& [metric, measured] : part->kernels[k].metrics) {
        auto it = whole.kernels[k].metrics.find(metric);
        ASSERT_NE(it, whole.kernels[k].metrics.end()) << size << " " << info_of(metric).name;
        ASSERT_EQ(measured.value, it->second.value) << size << " " << info_of(metric).name;
      }
    }
  }
}

TEST(ReadNcu, CutRawPageGivesNoWrongNumber) {
  cut_everywhere("ncu_raw_full.csv", 2503);
}
TEST(ReadNcu, CutDetailsPageGivesNoWrongNumber) {
  cut_everywhere("ncu_details.csv", 719);
}

TEST(ReadNcu, CutAtEveryByteOfASmallTable) {
  std::string text = table("1,234.50", "12,345,678", "3.25") + row("g", "4.125", "5,000", "61.5");
  Profile whole = read_ok(text);
  for (const std::string& form : {text, replace_all(text, "\n", "\r\n")}) {
    for (std::size_t size = 0; size < form.size(); ++size) {
      auto part = read_ncu_csv(std::string_view(form).substr(0, size), "cut.csv");
      if (!part) continue;
      for (std::size_t k = 0; k < part->kernels.size(); ++k) {
        for (const auto& [metric, measured] : part->kernels[k].metrics)
          ASSERT_EQ(measured.value, whole.kernels[k].metrics[metric].value) << size;
      }
    }
  }
}

}  // namespace
}  // namespace kp
