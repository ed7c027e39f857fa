#include "build/includes.h"

#include <gtest/gtest.h>

#include "build/build_testing.h"

namespace kp {
namespace {

std::vector<int> refused(std::string_view source) {
  std::vector<int> lines;
  for (const Diagnostic& d : check_includes(source)) lines.push_back(d.line);
  return lines;
}

TEST(Includes, FilesOfTheMachineAreRefusedAtTheirLines) {
  EXPECT_EQ(refused("#include <cuda_fp16.h>\n#include \"/etc/passwd\"\n"), std::vector<int>{2});
  EXPECT_EQ(refused("#include </etc/passwd>"), std::vector<int>{1});
  EXPECT_EQ(refused("#include <cute/../../../etc/passwd>"), std::vector<int>{1});
  EXPECT_EQ(refused("\n  #  include   \"../x.h\""), std::vector<int>{2});
  EXPECT_EQ(refused("%:include \"/etc/passwd\""), std::vector<int>{1});
  EXPECT_EQ(refused("?\?=include \"/etc/passwd\""), std::vector<int>{1});
  EXPECT_EQ(refused("/* a\n */ /**/ # /**/ include /**/ \"/etc/passwd\""), std::vector<int>{2});
  EXPECT_EQ(refused("#inc\\\nlude \"/etc/passwd\""), std::vector<int>{1});
  EXPECT_EQ(refused("#\\\n\\  \ninclude \"/etc/passwd\""), std::vector<int>{1});
  EXPECT_EQ(refused("#define F \"/etc/passwd\"\n#include F"), std::vector<int>{2});
  EXPECT_EQ(refused("#include_next </etc/passwd>"), std::vector<int>{1});
  EXPECT_EQ(refused("#import \"/etc/passwd\""), std::vector<int>{1});
  EXPECT_EQ(refused("char a[] = {\n#embed \"x\"\n};"), std::vector<int>{2});
  EXPECT_EQ(refused("int i = 1'000'000;\n#include \"/etc/passwd\""), std::vector<int>{2});
  EXPECT_EQ(refused("char c = '\"';\n#include \"/etc/passwd\"\nchar d = '\"';"),
            std::vector<int>{2});
  EXPECT_EQ(refused("auto s = R\"x(\n)\" )x\";\n#include \"/etc/passwd\""), std::vector<int>{3});
}

TEST(Includes, TextThatIsNoDirectiveIsLeftAlone) {
  EXPECT_TRUE(refused("// #include \"/etc/passwd\"\n/*\n#include \"/x\"\n*/").empty());
  EXPECT_TRUE(refused("// see \\\n#include \"/etc/passwd\"").empty());
  EXPECT_TRUE(refused("const char* s = R\"(\n#include \"/etc/passwd\"\n)\";").empty());
  EXPECT_TRUE(refused("const char* s = \"\\\n#include </x>\";").empty());
  EXPECT_TRUE(refused("x #include \"/etc/passwd\"").empty());
  EXPECT_TRUE(refused("#include \"my..h\"\n#include <a/b.h>").empty());
  EXPECT_TRUE(refused("").empty());
  EXPECT_TRUE(refused("#").empty());
  EXPECT_TRUE(refused("\\").empty());
}

TEST(Includes, ARefusedIncludeIsNeverCompiled) {
  Build b = build_text("\n#include \"/etc/passwd\"\nextern \"C\" __global__ void k() {}\n");
  EXPECT_FALSE(b.ok);
  std::string words = describe_diagnostics(b, 5);
  EXPECT_TRUE(contains(words, "line 2: error: a candidate may not include an absolute path"))
      << words;
  EXPECT_FALSE(contains(words + b.log, "root:"));
}

TEST(Includes, HeavyHeadersChooseThePrecompiledOne) {
  EXPECT_EQ(precompiled_prefix("#include <cuda_fp16.h>\n#include <cuda/std/cstdint>"), "");
  EXPECT_EQ(precompiled_prefix("#include <cooperative_groups.h>"), "kernelpro/cccl.h");
  EXPECT_EQ(precompiled_prefix("#include <cub/block/block_reduce.cuh>"), "kernelpro/cccl.h");
  EXPECT_EQ(precompiled_prefix("#include <cub/warp/warp_reduce.cuh>\n#include <cute/tensor.hpp>"),
            "kernelpro/cute.h");
  // Macros may change what the header means: it is read where it stands.
  EXPECT_EQ(precompiled_prefix("#define X\n#include <cute/tensor.hpp>"), "");
  EXPECT_EQ(precompiled_prefix("#include <cute/tensor.hpp>\n#define X"), "kernelpro/cute.h");
}

}  // namespace
}  // namespace kp
