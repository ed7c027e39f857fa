#include "build/toolkit.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "build/build_testing.h"

namespace kp {
namespace {

// A toolkit made of empty files; only its places matter.
TEST(Toolkit, PartsAreFoundWhereTheyLie) {
  auto made = TempFolder::make("kernelpro-toolkit").value();
  const fs::path root = made.path();
  for (const char* file : {"cuda/lib64/libnvrtc.so.13", "cuda/lib64/libnvrtc.so.9",
                           "cuda/include/cuda_fp16.h", "cuda/include/cccl/cuda/std/cstdint",
                           "cuda/bin/nvdisasm", "cutlass/include/cute/tensor.hpp"})
    ASSERT_TRUE(write_file(root / file, ""));
  ::setenv("CUDA_HOME", (root / "cuda").c_str(), 1);
  ::setenv("CUTLASS_PATH", (root / "cutlass").c_str(), 1);
  Toolkit t = find_toolkit();
  EXPECT_EQ(t.nvrtc, (root / "cuda/lib64/libnvrtc.so.13").string());
  EXPECT_EQ(t.include_dirs, (std::vector<std::string>{(root / "cuda/include").string(),
                                                      (root / "cuda/include/cccl").string()}));
  EXPECT_EQ(t.nvdisasm, (root / "cuda/bin/nvdisasm").string());
  EXPECT_EQ(t.cutlass_include, (root / "cutlass/include").string());
  ::setenv("CUTLASS_PATH", (root / "cutlass/include").c_str(), 1);
  EXPECT_EQ(find_toolkit().cutlass_include, (root / "cutlass/include").string());

  // A virtual environment's wheels, when the toolkit lacks a part.
  for (const char* file :
       {"venv/lib/python3.12/site-packages/nvidia/cu13/bin/cuobjdump",
        "venv/lib/python3.12/site-packages/cutlass_library/source/include/cute/tensor.hpp"})
    ASSERT_TRUE(write_file(root / file, ""));
  ::setenv("KERNELPRO_VENV", (root / "venv").c_str(), 1);
  ::setenv("CUTLASS_PATH", "/nonexistent", 1);
  t = find_toolkit();
  EXPECT_TRUE(contains(t.cutlass_include, "venv/lib/python3.12")) << t.cutlass_include;
  EXPECT_FALSE(t.searched.empty());
  ::unsetenv("CUDA_HOME");
  ::unsetenv("CUTLASS_PATH");
  ::unsetenv("KERNELPRO_VENV");
}

}  // namespace
}  // namespace kp
