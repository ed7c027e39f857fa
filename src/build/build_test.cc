#include "build/build.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "build/build_testing.h"
#include "build/cache.h"

namespace kp {
namespace {

const char* const kAxpy =
    "extern \"C\" __global__ void axpy(float a, const float* x, float* y, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] += a * x[i];\n"
    "}\n";

class EnvGuard {
 public:
  EnvGuard(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~EnvGuard() { old_.empty() ? ::unsetenv(name_) : ::setenv(name_, old_.c_str(), 1); }

 private:
  const char* name_;
  std::string old_;
};

TEST(Build, GoodKernelAndItsSecondBuildFromTheCache) {
  KP_NEEDS_NVRTC();
  Build first = build_text(kAxpy);
  ASSERT_TRUE(first.ok) << first.log;
  EXPECT_FALSE(first.cached);
  EXPECT_EQ(first.key.size(), 64U);
  ASSERT_EQ(first.kernels.size(), 1U);
  EXPECT_EQ(first.kernels[0].params.kernel, "axpy");
  EXPECT_EQ(first.kernels[0].params.sizes, (std::vector<std::uint32_t>{4, 8, 8, 4}));
  EXPECT_GT(first.kernels[0].registers, 0U);
  EXPECT_TRUE(starts_with(first.cubin.string(), test_cache().string()));

  Build second = build_text(kAxpy);
  EXPECT_TRUE(second.ok);
  EXPECT_TRUE(second.cached);
  EXPECT_LT(second.seconds, first.seconds);
  Json a = to_json(first), b = to_json(second);
  for (const char* changing : {"seconds", "cached"}) {
    a.erase(changing);
    b.erase(changing);
  }
  EXPECT_EQ(dump_json(a), dump_json(b));
}

TEST(Build, KeyDependsOnSourceDefinesArchitectureAndLineInfo) {
  KP_NEEDS_NVRTC();
  BuildOptions sm80, plain, defined;
  sm80.arch = "sm_80";
  plain.line_info = false;
  defined.defines = {"real=double"};
  std::vector<std::string> keys = {build_text(kAxpy).key, build_text(std::string(kAxpy) + " ").key,
                                   build_text(kAxpy, sm80).key, build_text(kAxpy, plain).key,
                                   build_text(kAxpy, defined).key};
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(keys[i], keys[j]) << i << " " << j;
}

TEST(Build, ErrorsHaveTheCandidatesLines) {
  KP_NEEDS_NVRTC();
  const std::string source =
      "/* plan\n{}\n*/\n#include <cstdint>\n"
      "extern \"C\" __global__ void k(float* x) {\n"
      "  x[0] = undefined_name;\n"
      "}\n";
  Build b = build_text(source);
  EXPECT_FALSE(b.ok);
  ASSERT_FALSE(b.diagnostics.empty());
  EXPECT_EQ(b.diagnostics[0].line, 6);
  EXPECT_EQ(b.diagnostics[0].column, 10);
  std::string words = describe_diagnostics(b, 3);
  EXPECT_TRUE(contains(words, "line 6: error: identifier \"undefined_name\" is undefined"))
      << words;
  EXPECT_TRUE(contains(words, "  x[0] = undefined_name;\n             ^")) << words;
  Build again = build_text(source);  // failures are kept too, and read the same
  EXPECT_TRUE(again.cached);
  EXPECT_EQ(describe_diagnostics(again, 3), words);
}

TEST(Build, ErrorsOfInlinePtxHaveLinesToo) {
  KP_NEEDS_NVRTC();
  Build b = build_text(
      "extern \"C\" __global__ void k(float* x) {\n"
      "  x[1] = 2;\n"
      "  asm volatile(\"bogus.op %0;\" ::\"f\"(x[0]));\n"
      "}\n");
  EXPECT_FALSE(b.ok);
  ASSERT_FALSE(b.diagnostics.empty());
  EXPECT_EQ(b.diagnostics[0].line, 3) << b.log;
  EXPECT_TRUE(contains(b.diagnostics[0].message, "ptxas: ")) << b.diagnostics[0].message;
}

TEST(Build, TooMuchSharedMemoryIsAnError) {
  KP_NEEDS_NVRTC();
  Build b = build_text(
      "extern \"C\" __global__ void __launch_bounds__(1024) k(float* x) { __shared__ float "
      "s[70000]; s[threadIdx.x] = "
      "x[0]; "
      "__syncthreads(); x[0] = s[threadIdx.x + 1]; }");
  EXPECT_FALSE(b.ok);
  EXPECT_TRUE(contains(describe_diagnostics(b, 1), "too much shared data")) << b.log;
}

TEST(Build, EmptyOrHostOnlySourceIsAnErrorOfTheCandidate) {
  KP_NEEDS_NVRTC();
  for (const char* source : {"", "int x;", "template <int N> __global__ void k(float* x) {}"}) {
    Build b = build_text(source);
    EXPECT_FALSE(b.ok) << source;
    EXPECT_TRUE(contains(describe_diagnostics(b, 1), "no __global__ function"))
        << describe_diagnostics(b, 1);
  }
}

TEST(Build, TemplateKernelsAreMadeByTheNamesThatPlansGive) {
  KP_NEEDS_NVRTC();
  Candidate c = candidate_of("template <class T, int N> __global__ void k(T* x) { x[0] = N; }");
  PlanKernel step;
  step.kernel = "k<double,4>";
  c.plan.steps.emplace_back(PlanRepeat{"2", "t", {step}});
  BuildOptions options;
  options.cache = test_cache();
  Build b = build(c, options).value();
  ASSERT_TRUE(b.ok) << b.log;
  ASSERT_EQ(b.kernels.size(), 1U);
  EXPECT_EQ(b.kernels[0].params.kernel, "k<double,4>");
  EXPECT_EQ(symbol_of(b, "k<double,4>"), "_Z1kIdLi4EEvPT_");
}

TEST(Build, DefinesReachTheSourceAndKeepItsLines) {
  KP_NEEDS_NVRTC();
  BuildOptions options;
  options.defines = {"real=double", "FLAG"};
  Build b = build_text(
      "struct A { real v[3]; };\n#if FLAG\nextern \"C\" __global__ void k(A a, real s, real* x) { "
      "x[0] "
      "= s; }\n#endif\n",
      options);
  ASSERT_TRUE(b.ok) << b.log;
  EXPECT_EQ(b.kernels[0].params.sizes, (std::vector<std::uint32_t>{24, 8, 8}));
  Build wrong = build_text("\n\nreal x = ;\n", options);
  ASSERT_FALSE(wrong.diagnostics.empty());
  EXPECT_EQ(wrong.diagnostics[0].line, 3);
}

TEST(Build, EndlessCompilationIsKilledAndNotKept) {
  KP_NEEDS_NVRTC();
  const std::string source =
      "template <int A, int B> struct F { static constexpr long v = F<A - 1, B>::v + F<A - 1, B + "
      "A>::v; };\n"
      "template <int B> struct F<0, B> { static constexpr long v = 1; };\n"
      "extern \"C\" __global__ void k(long* x) { x[0] = F<60, 0>::v + F<180, 1>::v; }\n";
  BuildOptions options;
  options.timeout_s = 1;
  Stopwatch watch;
  Build b = build_text(source, options);
  EXPECT_LT(watch.seconds(), 10);
  EXPECT_FALSE(b.ok);
  EXPECT_TRUE(b.timed_out) << b.log;
  EXPECT_TRUE(contains(describe_diagnostics(b, 1), "did not end within 1 s"));
  EXPECT_FALSE(read_entry(test_cache(), b.key));
}

TEST(Build, DamagedEntriesAreMadeAnew) {
  KP_NEEDS_NVRTC();
  Build first = build_text(kAxpy);
  ASSERT_TRUE(first.ok);
  const fs::path folder = entry_folder(test_cache(), first.key);
  const std::string good = read_file(first.cubin).value();
  auto rebuilt = [&] {
    Build b = build_text(kAxpy);
    EXPECT_TRUE(b.ok && !b.cached);
    EXPECT_EQ(sha256_hex(read_file(b.cubin).value()), sha256_hex(good));
    return b.ok && !b.cached;
  };
  ASSERT_TRUE(write_file(first.cubin, good.substr(0, 1000)));
  EXPECT_TRUE(rebuilt());
  ASSERT_TRUE(write_file(folder / "build.json", "{\"ok\": true"));
  EXPECT_TRUE(rebuilt());
  ASSERT_TRUE(write_file(folder / "build.json", "[]"));
  EXPECT_TRUE(rebuilt());
  fs::remove(folder / "kernel.cubin");
  EXPECT_TRUE(rebuilt());
  EXPECT_TRUE(build_text(kAxpy).cached);
}

TEST(Build, ManyProcessesAtOnceAgree) {
  KP_NEEDS_NVRTC();
  test_cache();
  const std::string source = std::string(kAxpy) + "// built by many\n";
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    pid_t pid = ::fork();
    if (pid == 0) {
      Build b = build_text(source);
      ::_exit(b.ok && read_entry(test_cache(), b.key) ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  Build last = build_text(source);
  EXPECT_TRUE(last.ok && last.cached);
  EXPECT_TRUE(fs::is_empty(test_cache() / "tmp"));  // nothing is left over
}

TEST(Build, UnwritableCacheSaysWhatToDo) {
  KP_NEEDS_NVRTC();
  BuildOptions options;
  options.cache = test_cache() / "file" / "cache";
  ASSERT_TRUE(write_file(test_cache() / "file", "in the way"));
  auto b = build(candidate_of(kAxpy), options);
  ASSERT_FALSE(b);
  EXPECT_TRUE(contains(b.error().hint, "KERNELPRO_CACHE")) << b.error().text();
}

TEST(Build, MissingNvrtcSaysWhatToDo) {
  test_cache();
  EnvGuard guard("KERNELPRO_NVRTC", "/nonexistent/libnvrtc.so");
  BuildOptions options;
  options.cache = test_cache();
  auto b = build(candidate_of(kAxpy), options);
  ASSERT_FALSE(b);
  EXPECT_TRUE(contains(b.error().message, "/nonexistent/libnvrtc.so")) << b.error().message;
  EXPECT_TRUE(contains(b.error().hint, "KERNELPRO_NVRTC")) << b.error().hint;
}

TEST(Build, UnknownArchitectureIsNamed) {
  KP_NEEDS_NVRTC();
  BuildOptions options;
  options.arch = "sm_1";
  Build b = build_text(kAxpy, options);
  EXPECT_FALSE(b.ok);
  EXPECT_TRUE(contains(describe_diagnostics(b, 1), "gpu-architecture"))
      << describe_diagnostics(b, 1);
}

TEST(Build, HeadersThatNvrtcLacks) {
  KP_NEEDS_NVRTC();
  if (find_toolkit().include_dirs.empty()) GTEST_SKIP() << "no CUDA headers on this machine";
  Build b = build_text(
      "#include <cstdint>\n#include <stdint.h>\n#include <cmath>\n#include <cfloat>\n"
      "#include <climits>\n#include <cstddef>\n#include <cuda_runtime.h>\n#include <cuda.h>\n"
      "#include <stdio.h>\n#include <cassert>\n#include <algorithm>\n#include <limits>\n"
      "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <mma.h>\n"
      "extern \"C\" __global__ void k(float* x, std::uint32_t n, uint64_t q, std::size_t z, half "
      "h) {\n"
      "  x[0] = std::max(std::sqrt(x[1]), FLT_MAX) + std::exp(x[2]) + std::isnan(x[3]) + INT_MAX;\n"
      "  x[1] = std::numeric_limits<float>::infinity() + __half2float(h) + INFINITY + M_PI;\n"
      "  assert(n > 0);\n  printf(\"%d\", static_cast<int>(q + z));\n"
      "}\n");
  ASSERT_TRUE(b.ok) << b.log;
  EXPECT_EQ(b.kernels[0].params.sizes, (std::vector<std::uint32_t>{8, 4, 8, 8, 2}));
}

}  // namespace
}  // namespace kp
