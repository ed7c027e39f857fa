#include "build/pch.h"

#include <gtest/gtest.h>

#include "build/build_testing.h"

namespace kp {
namespace {

std::vector<fs::path> pch_files(const fs::path& cache) {
  std::vector<fs::path> found;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(cache / "pch", ec))
    if (entry.path().extension() == ".pch") found.push_back(entry.path());
  return found;
}

std::string scale_by(int factor) {
  return "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
         "extern \"C\" __global__ void k(float* x) {\n"
         "  auto block = cg::this_thread_block();\n"
         "  x[block.thread_rank()] *= " +
         std::to_string(factor) + ";\n}\n";
}

// One test, as each has a precompiled header to make: its life from the first use to its damage.
TEST(Pch, LivesAcrossProcessesAndIsReplacedWhenDamaged) {
  KP_NEEDS_NVRTC();
  if (find_toolkit().include_dirs.empty()) GTEST_SKIP() << "no CUDA headers on this machine";
  BuildOptions options;
  options.cache = test_cache() / "pch_life";
  Build first = build_text(scale_by(2), options);
  ASSERT_TRUE(first.ok) << first.log;
  if (first.precompiled != "created")
    GTEST_SKIP() << "no precompiled headers here: " << first.precompiled;
  Build second = build_text(scale_by(3), options);
  ASSERT_TRUE(second.ok) << second.log;
  EXPECT_EQ(second.precompiled, "used");
  EXPECT_LT(second.seconds, first.seconds);
  EXPECT_FALSE(contains(second.log, "precompiled"));

  Build wrong = build_text(scale_by(4) + "\nint y = z;\n", options);
  EXPECT_EQ(wrong.precompiled, "used");
  ASSERT_FALSE(wrong.diagnostics.empty());
  EXPECT_EQ(wrong.diagnostics[0].line, 8) << wrong.log;

  // Defines do not ask for another one.
  BuildOptions defined = options;
  defined.defines = {"real=double"};
  EXPECT_EQ(build_text(scale_by(5), defined).precompiled, "used");

  auto files = pch_files(options.cache);
  ASSERT_EQ(files.size(), 1U);
  fs::resize_file(files[0], 1 << 20);
  Build after_damage = build_text(scale_by(6), options);
  EXPECT_TRUE(after_damage.ok) << after_damage.log;
  EXPECT_NE(after_damage.precompiled, "used");
  EXPECT_FALSE(fs::exists(files[0]));  // the next process makes it anew
}

TEST(Pch, CuteCandidate) {
  KP_NEEDS_NVRTC();
  if (find_toolkit().cutlass_include.empty())
    GTEST_SKIP() << "no CUTLASS headers: set CUTLASS_PATH or install the nvidia-cutlass wheel";
  auto source = [](int value) {
    return "/* plan\n{}\n*/\n#include <cute/tensor.hpp>\nusing namespace cute;\n"
           "extern \"C\" __global__ void k(const __grid_constant__ TmaDescriptor map, real* x) {\n"
           "  Tensor t = make_tensor(make_gmem_ptr(x), make_shape(Int<4>{}, Int<8>{}));\n"
           "  t(threadIdx.x % 4, threadIdx.x / 4) = " +
           std::to_string(value) + ";\n}\n";
  };
  BuildOptions options;
  options.defines = {"real=double"};  // a name that CUTLASS uses for members
  Build first = build_text(source(1), options);
  ASSERT_TRUE(first.ok) << first.log;
  EXPECT_EQ(kernel_of(first, "k").params.sizes, (std::vector<std::uint32_t>{128, 8}));
  if (first.precompiled != "created") GTEST_SKIP() << first.precompiled;
  Build second = build_text(source(2), options);
  EXPECT_TRUE(second.ok) << second.log;
  EXPECT_EQ(second.precompiled, "used");
}

TEST(Pch, MessagesAreTakenOutOfTheLog) {
  std::string log = "\"k.cu\": using precompiled header file \"/x.pch\"\n\nptxas info: y\n";
  EXPECT_TRUE(strip_pch_messages(log));
  EXPECT_EQ(log, "ptxas info: y\n");
  log =
      "\"k.cu\": using precompiled header file \"/x.pch\"\n\nCatastrophic error: invalid "
      "precompiled header file\n";
  EXPECT_FALSE(strip_pch_messages(log));
  log =
      "Warning #629-D: the command line options do not match those used when precompiled header "
      "file \"/x.pch\" was created\n\nRemark: The warnings can be suppressed with \"-diag-suppress "
      "<warning-number>\"\n\nk.cu(1): error: e\n";
  EXPECT_FALSE(strip_pch_messages(log));
  EXPECT_EQ(log, "k.cu(1): error: e\n");
}

}  // namespace
}  // namespace kp
