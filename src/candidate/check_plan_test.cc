#include <gtest/gtest.h>

#include "base/text.h"
#include "candidate/kernel_name.h"
#include "candidate/resolve.h"

namespace kp {
namespace {

// row_max(TmaDescriptor, float*, int) with 1 KiB of static shared memory, for at most 512 threads.
const std::vector<KernelParams> kKernels{{"row_max", {128, 8, 4}, 512, 1024},
                                         {"_Z6finishILi128EEvPff", {8, 4}, 0, 0}};

ResolvedPlan plan() {
  KernelLaunch launch;
  launch.kernel = "row_max";
  launch.where = "step 1 (row_max)";
  launch.grid = {8, 4, 1};
  launch.block = {256, 1, 1};
  launch.args = {TensorMapArg{"tX"}, PointerArg{"y"}, ValueArg{{1, 0, 0, 0}, "i32:N"}};
  ResolvedPlan out;
  out.steps = {launch, MemsetStep{"y", 0}};
  return out;
}

// What check_plan says after `change`; empty when it agrees.
template <class Change>
std::string checked(Change change, LaunchLimits limits = {}) {
  ResolvedPlan p = plan();
  change(std::get<KernelLaunch>(p.steps[0]));
  auto status = check_plan(p, kKernels, limits);
  return status ? "" : status.error().message;
}

TEST(CheckPlan, GoodPlans) {
  EXPECT_EQ(checked([](KernelLaunch&) {}), "");
  EXPECT_EQ(checked([](KernelLaunch& l) { l.block = {512, 1, 1}; }), "");
  EXPECT_EQ(checked([](KernelLaunch& l) { l.dynamic_smem = 49152 - 1024; }), "");
  EXPECT_EQ(checked([](KernelLaunch& l) { l.cluster = {4, 2, 1}; }), "");
  EXPECT_EQ(checked([](KernelLaunch& l) { l.grid = {2147483647, 65535, 65535}; }), "");
}

TEST(CheckPlan, MissingKernel) {
  EXPECT_EQ(checked([](KernelLaunch& l) { l.kernel = "rowmax"; }),
            "step 1 (row_max): no kernel \"rowmax\" (did you mean \"row_max\"?)");
  EXPECT_EQ(checked([](KernelLaunch& l) { l.kernel = "something"; }),
            "step 1 (row_max): no kernel \"something\"");
  auto none = check_plan(plan(), {}, {});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().message, "step 1 (row_max): no kernel \"row_max\": the code defines none");
}

TEST(CheckPlan, Arguments) {
  EXPECT_EQ(checked([](KernelLaunch& l) { l.args.pop_back(); }),
            "step 1 (row_max): 2 arguments, but the kernel has 3 parameters");
  EXPECT_EQ(checked([](KernelLaunch& l) {
              l.args[2] = ValueArg{{1, 0, 0, 0, 0, 0, 0, 0}, "i64:N"};
            }),
            "step 1 (row_max): argument 3 (\"i64:N\") has 8 bytes, but the kernel's parameter has "
            "4");
  EXPECT_EQ(checked([](KernelLaunch& l) { l.args[0] = PointerArg{"x"}; }),
            "step 1 (row_max): argument 1 (\"x\") has 8 bytes, but the kernel's parameter has 128");
  EXPECT_EQ(checked([](KernelLaunch& l) { l.args[1] = TensorMapArg{"tX"}; }),
            "step 1 (row_max): argument 2 (\"tX\") has 128 bytes, but the kernel's parameter has "
            "8");
}

TEST(CheckPlan, Threads) {
  EXPECT_EQ(checked([](KernelLaunch& l) {
              l.block = {2000, 1, 1};
            }),
            "step 1 (row_max): block.x is 2000, the device allows 1024");
  EXPECT_EQ(checked([](KernelLaunch& l) {
              l.block = {40, 50, 1};
            }),
            "step 1 (row_max): block 40 x 50 x 1 = 2000 threads a block, the device allows 1024");
  EXPECT_EQ(checked([](KernelLaunch& l) {
              l.block = {1, 1, 65};
            }),
            "step 1 (row_max): block.z is 65, the device allows 64");
  EXPECT_EQ(checked([](KernelLaunch& l) {
              l.block = {1024, 1024, 64};
            }),
            "step 1 (row_max): block 1024 x 1024 x 64 = 67108864 threads a block, the device "
            "allows 1024");
  EXPECT_EQ(checked([](KernelLaunch& l) {
              l.block = {513, 1, 1};
            }),
            "step 1 (row_max): block 513 x 1 x 1 = 513 threads a block, the kernel was compiled "
            "for 512");
  EXPECT_EQ(checked([](KernelLaunch& l) {
              l.grid = {1, 65536, 1};
            }),
            "step 1 (row_max): grid.y is 65536, the device allows 65535");
}

TEST(CheckPlan, SharedMemoryAndBuffers) {
  EXPECT_EQ(checked([](KernelLaunch& l) { l.dynamic_smem = 49152; }),
            "step 1 (row_max): 50176 bytes of shared memory (1024 static + 49152 dynamic), the "
            "device allows 49152 a block");
  LaunchLimits small;
  small.memory_bytes = 1000;
  ResolvedPlan p = plan();
  p.buffers = {{"a", DType::u8, {600}, 600}, {"b", DType::u8, {600}, 600}};
  auto status = check_plan(p, kKernels, small);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().message, "the plan's buffers need 1200 bytes, the device has 1000");
}

TEST(CheckPlan, Clusters) {
  EXPECT_EQ(checked([](KernelLaunch& l) {
              l.cluster = {16, 1, 1};
            }),
            "step 1 (row_max): cluster 16 x 1 x 1 has more blocks than the 8 allowed");
  EXPECT_EQ(checked([](KernelLaunch& l) {
              l.cluster = {4294967295, 4294967295, 4294967295};
            }),
            "step 1 (row_max): cluster 4294967295 x 4294967295 x 4294967295 has more blocks than "
            "the 8 allowed");
  EXPECT_EQ(checked([](KernelLaunch& l) {
              l.cluster = {3, 1, 1};
            }),
            "step 1 (row_max): grid.x is 8, not a multiple of cluster.x = 3");
}

TEST(KernelName, SymbolDemangledAndBase) {
  const std::string symbol = "_Z6finishILi128EEvPff";
  EXPECT_EQ(demangled(symbol), "void finish<128>(float*, float)");
  EXPECT_EQ(base_name(symbol), "finish<128>");
  EXPECT_TRUE(names_kernel("finish<128>", symbol));
  EXPECT_TRUE(names_kernel("void finish<128>(float*,float)", symbol));
  EXPECT_TRUE(names_kernel(symbol, symbol));
  EXPECT_FALSE(names_kernel("finish", symbol));
  EXPECT_FALSE(names_kernel("finish<64>", symbol));
  EXPECT_TRUE(names_kernel("k", "k"));
  EXPECT_EQ(base_name("_ZN2ns1kILb1EEEvPFvvE"), "ns::k<true>");
}

}  // namespace
}  // namespace kp
