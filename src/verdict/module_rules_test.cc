#include "verdict/module_rules.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/text.h"

namespace kp {
namespace {

// An honest process: what it claims, the overhead, and noise on both.
std::vector<ModuleSample> honest(double ms, double overhead_ms, double noise_ms, int n, Rng& rng) {
  std::vector<ModuleSample> samples;
  for (int i = 0; i < n; ++i) {
    double claimed = ms + noise_ms * rng.uniform();
    samples.push_back({claimed, claimed + overhead_ms + noise_ms * rng.uniform(), i % 12 == 5});
  }
  return samples;
}

TEST(ModuleRules, HonestClocksAgree) {
  Rng rng(1);
  int alarms = 0;
  for (int i = 0; i < 1000; ++i) {
    double ms = 0.005 * static_cast<double>(1 + i % 400);
    double noise = 0.02 * rng.uniform();
    std::vector<double> overhead;
    for (int k = 0; k < 15; ++k) overhead.push_back(0.2 + noise * rng.uniform());
    auto samples = honest(ms, 0.2, noise, 50, rng);
    alarms += clock_evidence(compare_clocks(samples, overhead_of(overhead))).has_value();
    alarms += memory_evidence(samples).has_value();
  }
  EXPECT_EQ(alarms, 0);
}

TEST(ModuleRules, AClockThatShowsTooLittleIsSeen) {
  Rng rng(2);
  ModuleOverhead overhead = overhead_of({0.20, 0.21, 0.22, 0.21, 0.20});
  auto samples = honest(1.0, 0.2, 0.01, 50, rng);
  for (auto& s : samples) s.claimed_ms *= 0.8;
  auto evidence = clock_evidence(compare_clocks(samples, overhead));
  ASSERT_TRUE(evidence);
  EXPECT_TRUE(starts_with(*evidence, "clock: ")) << *evidence;
  for (auto& s : samples) s.claimed_ms = 0;
  EXPECT_TRUE(clock_evidence(compare_clocks(samples, overhead)));
  for (auto& s : samples) s.claimed_ms = -1;
  EXPECT_TRUE(clock_evidence(compare_clocks(samples, overhead)));
  // What is within the resolution cannot be told: a claim of 10 us in place of 20.
  samples = honest(0.02, 0.2, 0.001, 50, rng);
  for (auto& s : samples) s.claimed_ms = 0.01;
  EXPECT_FALSE(clock_evidence(compare_clocks(samples, overhead)));
}

TEST(ModuleRules, KeptAnswersAreSeen) {
  Rng rng(3);
  auto samples = honest(0.05, 0.2, 0.01, 50, rng);
  EXPECT_FALSE(memory_evidence(samples));
  for (auto& s : samples)
    if (s.fresh) s.claimed_ms = 1.0;
  auto evidence = memory_evidence(samples);
  ASSERT_TRUE(evidence);
  EXPECT_TRUE(starts_with(*evidence, "memory: "));
  // One slow call among the new ones is chance, not memory.
  samples = honest(0.05, 0.2, 0.01, 50, rng);
  for (auto& s : samples)
    if (s.fresh) {
      s.claimed_ms = 1.0;
      break;
    }
  EXPECT_FALSE(memory_evidence(samples));
}

TEST(ModuleRules, WorkBetweenCallsIsSeen) {
  EXPECT_FALSE(busy_evidence({}));
  EXPECT_FALSE(busy_evidence({0.9}));
  EXPECT_FALSE(busy_evidence({0.0, 0.9, 0.1, 0.02, 0.0}));
  EXPECT_TRUE(busy_evidence({0.5, 0.6, 0.1}));
}

TEST(ModuleRules, KernelsOfItsOwn) {
  const char* cuda = "src = '''\ntemplate <class T> __global__ void scale(T* x) {}\n'''";
  const char* triton = "import triton\n@triton.jit\ndef add_kernel(x):\n    pass\n";
  EXPECT_TRUE(promises_kernels(cuda));
  EXPECT_TRUE(promises_kernels(triton));
  EXPECT_FALSE(promises_kernels("import torch\nx = torch.relu(y)  # no scale kernel\n"));
  Json launched = {{"void scale<float>(float*)", 1}, {"Memcpy DtoD", 2}};
  EXPECT_EQ(own_kernels(cuda, launched), std::vector<std::string>{"void scale<float>(float*)"});
  EXPECT_EQ(own_kernels(triton, {{"add_kernel_0d1d2", 1}}).size(), 1u);
  EXPECT_EQ(own_kernels(triton, {{"add_kernel", 1}}).size(), 1u);
  EXPECT_TRUE(own_kernels(triton, {{"other_kernel", 1}, {"add", 1}}).empty());
  // A PyTorch kernel is not the candidate's because its name stands in a comment.
  Json theirs = {{"void at::native::vectorized_elementwise_kernel<4>(int)", 3}};
  EXPECT_TRUE(own_kernels("__global__ // vectorized_elementwise_kernel", theirs).empty());
  EXPECT_TRUE(own_kernels(cuda, Json()).empty());
}

}  // namespace
}  // namespace kp
