#include "build/cubin.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "build/build_testing.h"
#include "candidate/kernel_name.h"

namespace kp {
namespace {

const char* const kSource = R"(
struct alignas(128) TensorMap { char bytes[128]; };
struct Big { float v[100]; };
struct Odd { char c[3]; };
struct Page { char b[4000]; };
struct Pages { char b[9000]; };
extern "C" __global__ void __launch_bounds__(192, 2)
    params(char a, short b, int c, double d, const __grid_constant__ TensorMap tm, Big big, float* p,
           Odd o, long long z, const __grid_constant__ TensorMap tm2, bool e) {
  __shared__ float s[300];
  s[threadIdx.x] = big.v[threadIdx.x % 100] + o.c[threadIdx.x % 3];
  __syncthreads();
  p[threadIdx.x] = s[threadIdx.x ^ 1] + a + b + c + (float)d + tm.bytes[1] + z + tm2.bytes[2] + e;
}
extern "C" __global__ void none() {}
extern "C" __global__ void page(Page h, float* x) { x[threadIdx.x] = h.b[threadIdx.x]; }
extern "C" __global__ void pages(Pages h, float* x, char c) { x[threadIdx.x] = h.b[threadIdx.x] + c; }
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster(float* x) { x[0] = 1; }
extern "C" __global__ void barriers(float* x) {
  asm volatile("bar.sync 5, 64;");
  x[0] = 1;
}
template <int N> __global__ void spread(float* x, int n) {
  float l[N];
  for (int i = 0; i < N; i++) l[i] = x[i * n];
  for (int i = 0; i < N; i++) x[i] = l[(i * n) % N];
}
template __global__ void spread<64>(float*, int);
namespace ns { __global__ void inner(float* x) { extern __shared__ float d[]; d[0] = x[0]; x[1] = d[1]; } }
)";

TEST(Cubin, TablesAgreeWithTheSourceAndWithPtxas) {
  KP_NEEDS_NVRTC();
  Build b = build_text(kSource);
  ASSERT_TRUE(b.ok) << b.log;
  const KernelResources& p = kernel_of(b, "params");
  EXPECT_EQ(p.params.sizes, (std::vector<std::uint32_t>{1, 2, 4, 8, 128, 400, 8, 3, 8, 128, 1}));
  EXPECT_EQ(p.params.max_threads, 192U);
  EXPECT_EQ(p.params.static_smem, 1200U);
  EXPECT_EQ(p.barriers, 1U);
  EXPECT_TRUE(kernel_of(b, "none").params.sizes.empty());
  EXPECT_EQ(kernel_of(b, "none").params.static_smem, 0U);
  EXPECT_EQ(kernel_of(b, "none").params.max_threads, 0U);
  EXPECT_EQ(kernel_of(b, "page").params.sizes, (std::vector<std::uint32_t>{4000, 8}));
  EXPECT_EQ(kernel_of(b, "pages").params.sizes, (std::vector<std::uint32_t>{9000, 8, 1}));
  EXPECT_EQ(kernel_of(b, "cluster").required_cluster[0], 2U);
  EXPECT_EQ(kernel_of(b, "barriers").barriers, 6U);
  EXPECT_EQ(kernel_of(b, "spread<64>").stack_bytes, 256U);
  EXPECT_EQ(kernel_of(b, "spread<64>").symbol, "_Z6spreadILi64EEvPfi");
  EXPECT_EQ(symbol_of(b, "ns::inner"), "_ZN2ns5innerEPf");
  EXPECT_EQ(symbol_of(b, "absent"), "");
  // The same numbers as ptxas's own report.
  for (const KernelResources& k : b.kernels) {
    SCOPED_TRACE(k.symbol);
    PtxasReport report = ptxas_report(b.log, k.symbol);
    EXPECT_EQ(k.registers, report.registers);
    EXPECT_EQ(k.barriers, report.barriers);
    EXPECT_EQ(k.params.static_smem, report.smem);
    EXPECT_EQ(k.stack_bytes, report.stack);
  }
}

TEST(Cubin, SharedMemoryOfOlderArchitecturesHasNoReserve) {
  KP_NEEDS_NVRTC();
  BuildOptions options;
  options.arch = "sm_80";
  Build b = build_text(
      "extern \"C\" __global__ void k(float* x) { __shared__ float s[512]; s[threadIdx.x] = x[0]; "
      "__syncthreads(); x[0] = s[threadIdx.x + 1]; }",
      options);
  ASSERT_TRUE(b.ok) << b.log;
  EXPECT_EQ(b.kernels[0].params.static_smem, 2048U);
}

TEST(Cubin, NamesAreThoseOfPlans) {
  EXPECT_EQ(base_name("axpy"), "axpy");
  EXPECT_EQ(base_name("_Z5plainPf"), "plain");
  EXPECT_EQ(base_name("_Z2tkILi64EEvPfi"), "tk<64>");
  EXPECT_EQ(base_name("_ZN2ns5innerEPf"), "ns::inner");
  EXPECT_EQ(base_name("_ZN12_GLOBAL__N_11kEPf"), "(anonymous namespace)::k");
  EXPECT_EQ(base_name("_Zbroken"), "_Zbroken");
}

TEST(Cubin, BadBytesAreErrorsAndNeverCrash) {
  KP_NEEDS_NVRTC();
  EXPECT_FALSE(parse_cubin(""));
  EXPECT_FALSE(
      parse_cubin("\x7f"
                  "ELF"));
  EXPECT_FALSE(parse_cubin(std::string(1000, '\xff')));
  Build b = build_text(kSource);
  ASSERT_TRUE(b.ok) << b.log;
  const std::string good = read_file(b.cubin).value();
  ASSERT_TRUE(parse_cubin(good));
  // The last part is the table of program headers, which is not read.
  for (std::size_t size = 0; size + 512 < good.size(); size += 97)
    EXPECT_FALSE(parse_cubin(std::string_view(good).substr(0, size))) << size;
  Rng rng(7);
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bad = good;
    for (int i = 0; i < 8; ++i) {
      // Half of the damage goes where the headers are.
      std::size_t at = rng.below(i % 2 == 0 ? bad.size() : 64);
      if (i % 4 == 3) at = bad.size() - 1 - rng.below(3000);
      bad[at] = static_cast<char>(rng.below(256));
    }
    refused += parse_cubin(bad) ? 0 : 1;
  }
  EXPECT_GT(refused, 100);
}

TEST(Cubin, FindsWhatOutlivesALaunch) {
  KP_NEEDS_NVRTC();
  Build b = build_text(R"(
__device__ int counter = 1;
static __device__ float scratch[100];
__constant__ float table[4];
extern "C" __global__ void k(int* out) {
  static __device__ int calls;
  __shared__ int own;
  own = ++calls;
  out[0] = ++counter + static_cast<int>(scratch[own % 100]++) + static_cast<int>(table[own % 4]);
})");
  ASSERT_TRUE(b.ok) << b.log;
  auto state = parse_cubin_state(read_file(b.cubin).value());
  ASSERT_TRUE(state) << state.error().text();
  EXPECT_FALSE(state->heap);
  ASSERT_EQ(state->globals.size(), 4U);
  for (const char* name : {"counter", "scratch", "table", "calls"})
    EXPECT_TRUE(
        std::any_of(state->globals.begin(), state->globals.end(),
                    [&](const std::string& g) { return g.find(name) != std::string::npos; }))
        << name;
}

TEST(Cubin, FindsTheDevicesHeap) {
  KP_NEEDS_NVRTC();
  Build b = build_text(R"(extern "C" __global__ void k(void** out) { *out = malloc(16); })");
  ASSERT_TRUE(b.ok) << b.log;
  auto state = parse_cubin_state(read_file(b.cubin).value());
  ASSERT_TRUE(state) << state.error().text();
  EXPECT_TRUE(state->heap);
  EXPECT_TRUE(state->globals.empty());
}

}  // namespace
}  // namespace kp
