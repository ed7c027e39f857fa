#include "profile/timeline.h"

#include <gtest/gtest.h>

namespace kp {
namespace {

GpuEvent event(GpuWork work, std::string name, std::int64_t start, std::int64_t duration,
               int stream = 7, int device = 0) {
  GpuEvent e;
  e.work = work;
  e.name = std::move(name);
  e.start_ns = start;
  e.duration_ns = duration;
  e.stream = stream;
  e.device = device;
  return e;
}

TEST(Timeline, OverlapIsBusyOnceAndDevicesCountForThemselves) {
  Timeline t;
  t.events = {event(GpuWork::kernel, "b", 5000, 1000),
              event(GpuWork::kernel, "a", 1000, 2000),
              event(GpuWork::copy, "Host-to-Device", 2000, 500, 8),  // inside a
              event(GpuWork::kernel, "a", 5500, 2000, 8),            // overlaps b
              event(GpuWork::fill, "memset", 0, 100, 7, 1),
              event(GpuWork::fill, "memset", 400, 100, 7, 1)};
  t.events[0].graph_node = 3;
  summarize(t);
  EXPECT_DOUBLE_EQ(t.span_us, 6.5 + 0.5);
  EXPECT_DOUBLE_EQ(t.gap_us, 2 + 0.3);
  EXPECT_DOUBLE_EQ(t.busy_us, 7 - 2.3);
  EXPECT_DOUBLE_EQ(t.largest_gap_us, 2);
  EXPECT_EQ(t.gaps, 2);
  EXPECT_EQ(t.graph_nodes, 1);
  ASSERT_EQ(t.kernels.size(), 2U);
  EXPECT_EQ(t.kernels[0].name, "a");
  EXPECT_EQ(t.kernels[0].count, 2);
  EXPECT_DOUBLE_EQ(t.kernels[0].total_us, 4);
  ASSERT_EQ(t.transfers.size(), 2U);
  EXPECT_EQ(t.events.front().name, "memset");
}

TEST(Timeline, SumsHaveMedians) {
  auto sums = sums_of({{"x", 1000}, {"x", 9000}, {"x", 2000}, {"y", 1000}, {"y", 2000}});
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_DOUBLE_EQ(sums[0].median_us, 2);
  EXPECT_DOUBLE_EQ(sums[0].min_us, 1);
  EXPECT_DOUBLE_EQ(sums[0].max_us, 9);
  EXPECT_DOUBLE_EQ(sums[1].median_us, 1.5);
}

TEST(Timeline, LongTracesKeepTheirFiguresButNotEveryEvent) {
  Timeline t;
  for (int i = 0; i < 100; ++i) t.events.push_back(event(GpuWork::kernel, "k", 10 * i, 5));
  summarize(t, 10);
  EXPECT_EQ(t.events.size(), 10U);
  EXPECT_EQ(t.left_out, 90);
  EXPECT_EQ(t.kernels[0].count, 100);
  EXPECT_EQ(t.gaps, 99);
}

TEST(Timeline, JsonThereAndBack) {
  Timeline t;
  t.events = {event(GpuWork::kernel, "k(int)", 10, 20),
              event(GpuWork::copy, "Device-to-Host", 50, 9)};
  t.events[0].grid = {4, 2, 1};
  t.events[0].call_start_ns = 3;
  t.events[1].bytes = 4096;
  t.calls = sums_of({{"cudaLaunchKernel", 2000}});
  summarize(t);
  auto back = timeline_from_json(to_json(t));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(to_json(*back), to_json(t));
  Json bad = to_json(t);
  bad["events"][0]["duration_ns"] = -1;
  EXPECT_FALSE(timeline_from_json(bad));
  bad["events"][0]["duration_ns"] = std::int64_t{9000000000000000000};
  EXPECT_FALSE(timeline_from_json(bad));
  bad["events"][0]["duration_ns"] = 1;
  bad["events"][0]["work"] = "sleep";
  EXPECT_FALSE(timeline_from_json(bad));
}

}  // namespace
}  // namespace kp
