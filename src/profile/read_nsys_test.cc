#include <gtest/gtest.h>
#include <sqlite3.h>

#include "base/text.h"
#include "profile/read.h"

namespace kp {
namespace {

const fs::path kData = fs::path(KERNELPRO_SOURCE_DIR) / "tests/data/nsys";

Profile csv(std::string_view text) {
  auto profile = read_nsys_csv(text, "t.csv");
  EXPECT_TRUE(profile.has_value()) << (profile ? "" : profile.error().text());
  return profile.value_or(Profile{});
}

std::string notes(const Profile& p) {
  return join(p.notes, "\n");
}

// Figures read from the files by eye; both files are of the same run.
void check_the_recorded_run(const Profile& p) {
  ASSERT_TRUE(p.timeline);
  const Timeline& t = *p.timeline;
  ASSERT_EQ(t.events.size(), 6U);
  EXPECT_EQ(t.events[0].name, "scale_add(const float *, const float *, float *, int)");
  EXPECT_EQ(t.events[1].start_ns, 457665849);
  EXPECT_EQ(t.events[1].duration_ns, 3155466);
  EXPECT_EQ(t.events[1].grid, (Dim3{128, 128, 1}));
  EXPECT_EQ(t.events[1].block, (Dim3{16, 16, 1}));
  EXPECT_EQ(t.events[1].registers, 32);
  EXPECT_EQ(t.events[1].stream, 7);
  EXPECT_EQ(t.events[1].correlation, 127);
  EXPECT_DOUBLE_EQ(t.span_us, (465392580 + 1177336 - 457406074) * 1e-3);
  EXPECT_EQ(t.gaps, 5);
  EXPECT_NEAR(t.busy_us, 9152.802, 1e-6);  // 6287.636 + 2355.792 + 509.374
  EXPECT_NEAR(t.largest_gap_us, 3.808, 1e-6);
  ASSERT_EQ(t.kernels.size(), 3U);
  EXPECT_EQ(t.kernels[0].count, 2);
  EXPECT_NEAR(t.kernels[0].total_us, 6287.636, 1e-6);
  EXPECT_NEAR(t.kernels[0].median_us, 3143.818, 1e-6);
  ASSERT_EQ(t.calls.size(), 7U);
  EXPECT_EQ(t.calls[0].name, "cudaMalloc");
  EXPECT_NEAR(t.calls[0].total_us, 128341.446, 1e-6);
  EXPECT_EQ(t.calls[2].name, "cudaLaunchKernel");
  EXPECT_EQ(t.calls[2].count, 6);
  ASSERT_EQ(p.kernels.size(), 6U);
  EXPECT_EQ(p.kernels[1].kernel, "gemm_naive");
  EXPECT_NEAR(p.kernels[1].get(Metric::duration_us).value_or(-1), 3155.466, 1e-9);
  EXPECT_DOUBLE_EQ(p.kernels[1].get(Metric::registers_per_thread).value_or(-1), 32);
  EXPECT_TRUE(p.notes.empty()) << notes(p);
}

TEST(ReadNsys, StatsOfAnH200) {
  check_the_recorded_run(csv(read_file(kData / "stats.csv").value()));
}

TEST(ReadNsys, SqliteOfAnH200) {
  auto p = read_nsys_sqlite(kData / "trace.sqlite", "t.sqlite");
  ASSERT_TRUE(p) << p.error().text();
  check_the_recorded_run(*p);
  EXPECT_EQ(p->timeline->events[0].call_duration_ns, 112275);  // the first launch: the longest
  ASSERT_TRUE(p->device);
  EXPECT_EQ(p->device->name, "NVIDIA H200");
  EXPECT_EQ(p->device->sms, 132);
  EXPECT_EQ(p->device->clock_khz, 1980000);
}

constexpr std::string_view kSum =
    "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n";
constexpr std::string_view kTrace =
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),"
    "DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n";

TEST(ReadNsys, CopiesFillsAndCallsOfATrace) {
  Profile p =
      csv("Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name\n"
          "10,5,cudaMemcpyAsync,0,3,1,1,20,main\n20,6,cudaLaunchKernel,0,4,1,1,20,main\n\n" +
          std::string(kTrace) +
          "100,50,3,,,,,,,,,,4.194,8000,Pinned,Device,NVIDIA H200 (1),1,,13,"
          "[CUDA memcpy Host-to-Device]\n"
          "160,7,5,,,,,,,,,,0.001,,Device,,NVIDIA H200 (1),1,,13,[CUDA memset]\n"
          "200,40,4,8,1,1,64,1,1,20,0,0,,,,,NVIDIA H200 (1),1,,13,\"f(int, float)\"\n");
  const auto& e = p.timeline->events;
  ASSERT_EQ(e.size(), 3U);
  EXPECT_EQ(e[0].work, GpuWork::copy);
  EXPECT_EQ(e[0].name, "Host-to-Device");
  EXPECT_EQ(e[0].device, 1);
  EXPECT_EQ(e[0].bytes, 0);
  EXPECT_EQ(e[1].work, GpuWork::fill);
  EXPECT_EQ(e[2].call_start_ns, 20);
  EXPECT_EQ(e[2].call_duration_ns, 6);
  EXPECT_EQ(p.timeline->gaps, 2);
  EXPECT_TRUE(contains(notes(p), "MB is 10^6 or 2^20")) << notes(p);
  EXPECT_EQ(p.kernels.size(), 1U);
}

TEST(ReadNsys, SumsAloneAndOtherUnits) {
  std::string ms = replace_all(std::string(kSum), "(ns)", "(ms)");
  Profile p = csv(ms + "90.0,6.5,2,3.25,3.25,3.0,3.5,0.1,\"f(int)\"\n10.0,1,1,1,1,1,1,0,g\n");
  EXPECT_TRUE(p.timeline->events.empty());
  ASSERT_EQ(p.kernels.size(), 3U);  // f twice
  EXPECT_DOUBLE_EQ(p.kernels[0].get(Metric::duration_us).value_or(-1), 3250);
  EXPECT_DOUBLE_EQ(p.total_us(), 7500);
  auto unknown = read_nsys_csv(
      replace_all(std::string(kSum), "(ns)", "(moons)") + "90.0,6.5,2,3.25,3.25,3.0,3.5,0.1,f\n",
      "t.csv");
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(contains(unknown.error().message, "moons")) << unknown.error().message;
}

TEST(ReadNsys, NoNumbersAreRefusedByName) {
  for (const char* bad : {"n/a", "nan", "-5", "12abc", "1e99", "0x10", "1 000"}) {
    Profile p = csv(std::string(kSum) + "9,5,1,5,5,5,5,0,ok\n9," + bad + ",1,5,5,5,5,0,poor\n");
    ASSERT_EQ(p.timeline->kernels.size(), 1U) << bad;
    EXPECT_TRUE(contains(notes(p), "Total Time")) << bad << notes(p);
    EXPECT_TRUE(contains(notes(p), "poor")) << bad << notes(p);
  }
  Profile p = csv(std::string(kSum) + "9,5,1.5,5,5,5,5,0,half\n9,7,1,5,5,5,5,0,ok\n");
  EXPECT_EQ(p.timeline->kernels.size(), 1U);
  // With decimal commas somewhere, what may be thousands is refused.
  Profile comma =
      csv(std::string(kSum) + "\"9,1\",\"1.234\",1,5,5,5,5,0,two\n\"9,1\",7,1,5,5,5,5,0,one\n");
  ASSERT_EQ(comma.timeline->kernels.size(), 1U) << notes(comma);
  EXPECT_EQ(comma.timeline->kernels[0].name, "one");
}

TEST(ReadNsys, CutAnywhereGivesNoWrongNumber) {
  std::string text = read_file(kData / "stats.csv").value();
  Profile whole = csv(text);
  std::map<std::string, double> totals;
  for (const TimeSum& s : whole.timeline->kernels) totals[s.name] = s.total_us;
  for (const TimeSum& s : whole.timeline->calls) totals[s.name] = s.total_us;
  for (std::size_t size = 0; size < text.size(); ++size) {
    auto part = read_nsys_csv(std::string_view(text).substr(0, size), "cut.csv");
    if (!part) continue;
    for (const GpuEvent& e : part->timeline->events) {
      bool same = false;
      for (const GpuEvent& w : whole.timeline->events)
        same = same ||
               (w.name == e.name && w.start_ns == e.start_ns && w.duration_ns == e.duration_ns);
      EXPECT_TRUE(same) << size;
    }
    for (const TimeSum& s : part->timeline->calls) EXPECT_EQ(s.total_us, totals[s.name]) << size;
  }
}

TEST(ReadNsys, OtherTablesAreNoCudaWork) {
  Profile p =
      csv("Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev "
          "(ns),Name\n50,9,1,9,9,9,9,0,poll\n50,9,1,9,9,9,9,0,cudaFree\n");
  ASSERT_EQ(p.timeline->calls.size(), 1U);
  auto nvtx = read_nsys_csv(
      "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev "
      "(ns),Style,Range"
      "\n50,9,1,9,9,9,9,0,PushPop,forward\n",
      "t.csv");
  EXPECT_FALSE(nvtx);
  EXPECT_FALSE(read_nsys_csv("a,b,c,d\n1,2,3,4\n", "t.csv"));
}

struct Made {
  TempFolder folder = TempFolder::make("kp-sqlite").value();
  fs::path path = folder.path() / "made %3f.sqlite";
  explicit Made(const char* statements) {
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(db, statements, nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_close(db);
  }
};

TEST(ReadNsys, SqliteWithCopiesGraphsAndFewerColumns) {
  Made made(
      "CREATE TABLE StringIds(id INTEGER, value TEXT);"
      "INSERT INTO StringIds VALUES (1,'f(int)'),(2,'cudaGraphLaunch_v10000');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start,end,globalTid,correlationId,nameId);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,5,16777217,9,2),(2,9,33554433,9,2);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start,end,deviceId,streamId,correlationId,globalPid,"
      "graphNodeId,shortName);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10,20,0,7,9,33554432,77,1),"
      "(30,25,0,7,9,33554432,78,1),('x',25,0,7,9,33554432,78,1),(NULL,1,0,0,0,0,0,0),"
      "(-9223372036854775807,9223372036854775807,0,7,9,33554432,78,1);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start,end,deviceId,streamId,bytes,copyKind);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (40,50,0,7,4096,1);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start,end,deviceId,streamId,graphId);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (60,90,0,7,5);");
  auto p = read_nsys_sqlite(made.path, "made");
  ASSERT_TRUE(p) << p.error().text();
  const auto& e = p->timeline->events;
  ASSERT_EQ(e.size(), 3U);
  EXPECT_EQ(e[0].name, "f(int)");
  EXPECT_EQ(e[0].call_start_ns, 2);  // of its own process
  EXPECT_EQ(e[1].name, "Host-to-Device");
  EXPECT_EQ(e[1].bytes, 4096);
  EXPECT_EQ(e[2].work, GpuWork::graph);
  EXPECT_EQ(p->timeline->graph_nodes, 1);
  EXPECT_EQ(p->timeline->calls[0].name, "cudaGraphLaunch");
  EXPECT_TRUE(contains(notes(*p), "4 rows")) << notes(*p);
}

TEST(ReadNsys, SqliteThatIsDamagedHostileOrOfSomebodyElse) {
  auto error = [](const fs::path& path) {
    auto p = read_nsys_sqlite(path, "f.sqlite");
    EXPECT_FALSE(p.has_value());
    return p ? std::string() : p.error().text();
  };
  EXPECT_TRUE(contains(error(Made("CREATE TABLE t(a)").path), "--trace cuda"));
  // A view in place of a table would run for ever.
  Made view(
      "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL "
      "SELECT start + 1 FROM n) SELECT start FROM n;");
  EXPECT_TRUE(contains(error(view.path), "without CUDA work"));
  std::string whole = read_file(kData / "trace.sqlite").value();
  auto folder = TempFolder::make("kp-sqlite").value();
  fs::path cut = folder.path() / "cut.sqlite";
  int refused = 0;
  for (std::size_t size = 16; size < whole.size(); size += whole.size() / 12) {
    ASSERT_TRUE(write_file(cut, std::string_view(whole).substr(0, size)));
    auto p = read_nsys_sqlite(cut, "cut");
    if (!p) ++refused;
    if (p) {
      EXPECT_EQ(p->timeline->events.size(), 6U) << size;
    }
  }
  EXPECT_GE(refused, 6);
}

}  // namespace
}  // namespace kp
