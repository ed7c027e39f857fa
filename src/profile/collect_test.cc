#include "profile/collect.h"

#include <gtest/gtest.h>

#include "base/process.h"
#include "base/text.h"
#include "profile/ncu_log.h"

namespace kp {
namespace {

// A program that stands in for ncu, nvdisasm or cuobjdump.
class FakeTool {
 public:
  explicit FakeTool(std::string_view script) {
    path_ = (folder_.path() / "tool").string();
    EXPECT_TRUE(
        write_file(path_, "#!/bin/sh\ncd " + folder_.path().string() + "\n" + std::string(script)));
    fs::permissions(path_, fs::perms::owner_all);
  }
  const std::string& path() const { return path_; }
  std::string file(const char* name) const { return read_file(folder_.path() / name).value_or(""); }

 private:
  TempFolder folder_ = TempFolder::make("kp-tool").value();
  std::string path_;
};

constexpr std::string_view kTable =
    "cat <<'END'\n"
    "==PROF== Connected to process 5\n"
    "{\"ok\": true}\n"
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\","
    "\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"gpu__time_duration.sum\"\n"
    "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"ns\"\n"
    "\"0\",\"5\",\"p\",\"h\",\"f(int)\",\"1\",\"7\",\"(32, 1, 1)\",\"(2, 1, 1)\",\"0\",\"9.0\","
    "\"1,500\"\n"
    "END\n";

Profile collect(const FakeTool& tool, double timeout_s = 20) {
  Toolkit toolkit;
  toolkit.ncu = tool.path();
  CollectRequest request;
  request.metrics = {Metric::duration_us, Metric::dram_throughput_pct};
  request.command = {"worker", "--once", "plan.json"};
  request.timeout_s = timeout_s;
  auto p = collect_ncu(toolkit, request);
  EXPECT_TRUE(p) << p.error().text();
  return p.value_or(Profile{});
}

std::string all_notes(const Profile& p) {
  return join(p.notes, "\n");
}

TEST(Collect, CommandLine) {
  CollectRequest request;
  request.metrics = {Metric::duration_us, Metric::dram_bytes_read, Metric::duration_us};
  request.command = {"worker", "--once"};
  request.kernels = {"f", "g<1>"};
  request.launch_skip = 2;
  request.launch_count = 3;
  EXPECT_EQ(join(ncu_command("ncu", request, {"dram__bytes_read"}), " "),
            "ncu --csv --page raw --print-units base --metrics "
            "gpu__time_duration.sum,dram__sectors_read.sum --clock-control none --target-processes "
            "all --kernel-name regex:^(f|g<1>)$ --launch-skip 2 --launch-count 3 worker --once");
}

TEST(Collect, ReadsTheTable) {
  FakeTool tool("echo \"$@\" > args\n" + std::string(kTable));
  Profile p = collect(tool);
  ASSERT_EQ(p.kernels.size(), 1U) << all_notes(p);
  EXPECT_DOUBLE_EQ(p.kernels[0].get(Metric::duration_us).value_or(-1), 1.5);
  EXPECT_TRUE(p.notes.empty()) << all_notes(p);
  EXPECT_TRUE(contains(tool.file("args"), "gpu__time_duration.sum,gpu__dram_throughput.avg."));
  EXPECT_TRUE(contains(tool.file("args"), "worker --once plan.json"));
}

TEST(Collect, TroubleIsToldApart) {
  struct Case {
    const char *script, *note;
  };
  const Case cases[] = {
      {"echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
       "Performance Counters on the target device 0.'; echo '==WARNING== No kernels were "
       "profiled.'; exit 1",
       "SYS_ADMIN"},
      {"echo '==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no "
       "other tool (like DCGM) is concurrently collecting profiling data.' >&2; exit 9",
       "dcgmi profile --pause"},
      {"echo '==ERROR== InterprocessLockFailed'; exit 9", "TMPDIR"},
      {"echo '==WARNING== No kernels were profiled.'", "no kernel launch"},
      {"echo '==ERROR== The application returned an error code (11).'; exit 11", "error code (11)"},
      {"echo nonsense; exit 3", "exit code 3"},
  };
  for (const Case& c : cases) {
    Profile p = collect(FakeTool(c.script));
    EXPECT_TRUE(p.kernels.empty());
    ASSERT_EQ(p.notes.size(), 1U) << c.script;
    EXPECT_TRUE(contains(p.notes[0], c.note)) << p.notes[0];
  }
}

TEST(Collect, NoNcuAndNoTime) {
  CollectRequest request;
  request.metrics = {Metric::duration_us};
  request.command = {"worker"};
  Profile none = collect_ncu({}, request).value();
  ASSERT_EQ(none.notes.size(), 1U);
  EXPECT_TRUE(contains(none.notes[0], "not found")) << none.notes[0];
  Toolkit gone;
  gone.ncu = "/no/such/ncu";
  EXPECT_TRUE(contains(all_notes(collect_ncu(gone, request).value()), "/no/such/ncu"));
  Profile late = collect(FakeTool("sleep 30"), 0.3);
  ASSERT_EQ(late.notes.size(), 1U);
  EXPECT_TRUE(contains(late.notes[0], "within 0.3 s")) << late.notes[0];
}

TEST(Collect, UnknownMetricIsDroppedAndTheNextCounterTried) {
  FakeTool tool(
      "echo \"$@\" >> args\n"
      "case \"$*\" in *gpu__dram_throughput*)\n"
      "echo '==ERROR== Failed to find metric regex:^gpu__dram_throughput\\.(sum|min|max|avg)$'\n"
      "exit 1;; esac\n" +
      std::string(kTable));
  Profile p = collect(tool);
  ASSERT_EQ(p.kernels.size(), 1U) << all_notes(p);
  EXPECT_TRUE(contains(all_notes(p), "gpu__dram_throughput is unknown")) << all_notes(p);
  auto runs = lines_of(tool.file("args"));
  EXPECT_TRUE(contains(tool.file("args"), "dram__throughput.avg")) << tool.file("args");
  EXPECT_EQ(runs.size(), 2U);
}

TEST(Collect, EveryMetricUnknownEnds) {
  Profile p = collect(FakeTool(
      "m=$(echo \"$7\" | cut -d, -f1); echo \"==ERROR== Failed to find metric $m\"; exit 1"));
  EXPECT_TRUE(p.kernels.empty());
  EXPECT_TRUE(contains(all_notes(p), "knows none")) << all_notes(p);
}

TEST(NcuLog, MetricsWithoutAccess) {
  auto names = unknown_metrics(
      "==WARNING== Unable to access the following 2 metrics: ctc__rx_bytes_data_user.sum, "
      "ctc__tx_bytes_data_user.sum.per_second.\n");
  EXPECT_EQ(join(names, " "), "ctc__rx_bytes_data_user.sum ctc__tx_bytes_data_user.sum.per_second");
  EXPECT_EQ(ncu_trouble("no error\n").kind, NcuTrouble::Kind::none);
}

std::string nvdisasm_text() {
  return (fs::path(KERNELPRO_SOURCE_DIR) / "tests/data/sass/access_widths.nvdisasm.txt").string();
}

TEST(Disassemble, PrefersLinesAndFallsBack) {
  FakeTool plain_only("case \"$*\" in *-g*) exit 1;; esac; cat " + nvdisasm_text());
  FakeTool broken("echo bad input >&2; exit 255");
  Toolkit toolkit;
  toolkit.nvdisasm = plain_only.path();
  fs::path cubin = nvdisasm_text();  // any file that is there
  ASSERT_TRUE(disassemble(toolkit, cubin));
  EXPECT_EQ(disassemble(toolkit, cubin)->size(), 7U);
  toolkit.nvdisasm = broken.path();
  auto bad = disassemble(toolkit, cubin);
  ASSERT_FALSE(bad);
  EXPECT_TRUE(contains(bad.error().message, "bad input")) << bad.error().message;
  toolkit.cuobjdump = plain_only.path();
  EXPECT_TRUE(disassemble(toolkit, cubin));
  EXPECT_FALSE(disassemble(toolkit, "/no/such.cubin"));
  auto nothing = disassemble({}, cubin);
  ASSERT_FALSE(nothing);
  EXPECT_TRUE(contains(nothing.error().hint, "nvidia-cuda-nvdisasm"));
}

}  // namespace
}  // namespace kp
