#include "profile/metrics.h"

#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "base/text.h"
#include "profile/names.h"

namespace kp {
namespace {

TEST(Metrics, TableIsInOrderAndNamesAreUnique) {
  const auto& table = metric_table();
  ASSERT_EQ(table.size(), static_cast<std::size_t>(Metric::warp_cycles_per_issue) + 1);
  std::set<std::string_view> names, counters;
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(table[i].metric), i) << table[i].name;
    EXPECT_TRUE(names.insert(table[i].name).second) << table[i].name;
    EXPECT_FALSE(table[i].counters.empty()) << table[i].name;
    EXPECT_FALSE(table[i].meaning.empty()) << table[i].name;
    for (std::string_view c : table[i].counters) EXPECT_TRUE(counters.insert(c).second) << c;
    EXPECT_EQ(metric_named(table[i].name), table[i].metric);
    EXPECT_EQ(&info_of(table[i].metric), &table[i]);
  }
  EXPECT_EQ(metric_named("dram_throughput_pct"), Metric::dram_throughput_pct);
  EXPECT_FALSE(metric_named("no_such_metric"));
  EXPECT_EQ(metric_of_counter("dram__bytes_read.sum"), Metric::dram_bytes_read);
  EXPECT_FALSE(metric_of_counter("dram__bytes_read"));
  EXPECT_EQ(metrics_of_display("Memory Throughput").size(), 2U);
}

// First counters that ncu's full set on an H200 does not hold; all others must be in the recording.
TEST(Metrics, FirstCountersAreInTheRecording) {
  const std::set<std::string_view> absent = {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
                                             "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
                                             "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
                                             "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum",
                                             "sm__inst_executed_pipe_tensor_op_hmma.sum",
                                             "sm__inst_executed_pipe_tensor_op_gmma.sum"};
  std::string text =
      read_file(fs::path(KERNELPRO_SOURCE_DIR) / "examples/recorded/ncu_raw_full.csv").value();
  for (const MetricInfo& info : metric_table()) {
    std::string quoted = "\"" + std::string(info.counters[0]) + "\"";
    EXPECT_NE(contains(text, quoted), absent.count(info.counters[0]) == 1) << quoted;
  }
}

TEST(Names, FunctionNames) {
  EXPECT_EQ(function_name("scale_add(const float *, const float *, float *, int)"), "scale_add");
  EXPECT_EQ(function_name("void gemm_naive<(int)16>(const float *, int)"), "gemm_naive");
  EXPECT_EQ(function_name("void ns::f<ns::A<int>, (bool)1>(void (*)(int))"), "ns::f");
  EXPECT_EQ(function_name("void (anonymous namespace)::f<int>(int)"), "(anonymous namespace)::f");
  EXPECT_EQ(function_name("<unnamed>::f(int)"), "<unnamed>::f");
  EXPECT_EQ(function_name("_Z10gemm_naiveILi16EEvPKfS1_Pfi"), "gemm_naive");
  EXPECT_EQ(function_name("_Znot a symbol"), "symbol");
  EXPECT_EQ(function_name("plain"), "plain");
  EXPECT_EQ(function_name(""), "");
  EXPECT_EQ(last_part("ns::f"), "f");
}

TEST(Names, SignaturesOfDifferentToolsCompareEqual) {
  std::string symbol = comparable_signature("_Z10gemm_naiveILi16EEvPKfS1_Pfi");
  EXPECT_EQ(symbol, comparable_signature(
                        "void gemm_naive<(int)16>(const float *, const float *, float *, int)"));
  EXPECT_EQ(symbol, comparable_signature(
                        "void gemm_naive<16>(const float *, const float *, float *, int)"));
  EXPECT_NE(symbol, comparable_signature(
                        "void gemm_naive<(int)32>(const float *, const float *, float *, int)"));
  EXPECT_EQ(comparable_signature("plain"), "");
}

}  // namespace
}  // namespace kp
