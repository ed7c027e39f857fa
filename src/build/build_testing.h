#pragma once
// For the tests of this folder: builds with a cache of their own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/text.h"
#include "build/build.h"
#include "build/toolkit.h"

#define KP_NEEDS_NVRTC()            \
  if (find_toolkit().nvrtc.empty()) \
  GTEST_SKIP()                      \
      << "no NVRTC on this machine: install the CUDA toolkit or the nvidia-cuda-nvrtc wheel"

namespace kp {

inline const fs::path& test_cache() {
  static const TempFolder folder = TempFolder::make("kernelpro-build-test").value();
  return folder.path();
}

inline Candidate candidate_of(const std::string& source, const std::string& name = "test.cu") {
  Candidate c;
  c.source = source;
  c.name = name;
  return c;
}

inline Build build_text(const std::string& source, BuildOptions options = {}) {
  if (options.cache.empty()) options.cache = test_cache();
  auto built = build(candidate_of(source), options);
  EXPECT_TRUE(built) << (built ? "" : built.error().text());
  return built ? *built : Build{};
}

inline const KernelResources& kernel_of(const Build& build, const std::string& name) {
  static const KernelResources kNone;
  for (const auto& k : build.kernels)
    if (k.params.kernel == name) return k;
  ADD_FAILURE() << "no kernel " << name;
  return kNone;
}

struct PtxasReport {
  std::uint32_t registers = 0, barriers = 0, smem = 0, stack = 0;
};

// What ptxas -v says of a kernel: "Used 16 registers, used 1 barriers, 8 bytes cumulative stack
// size, 1200 bytes smem".
inline PtxasReport ptxas_report(const std::string& log, const std::string& symbol) {
  PtxasReport report;
  std::size_t at = log.find("Function properties for " + symbol + "\n");
  at = at == std::string::npos ? at : log.find("Used ", at);
  if (at == std::string::npos) {
    ADD_FAILURE() << "ptxas says nothing of " << symbol;
    return report;
  }
  std::string line = log.substr(at, log.find('\n', at) - at);
  for (std::string_view part : split(line, ',')) {
    part = trim(part);
    if (starts_with(lower(part), "used ")) part.remove_prefix(5);
    auto number = static_cast<std::uint32_t>(std::atoi(std::string(part).c_str()));
    if (ends_with(part, "registers")) report.registers = number;
    if (ends_with(part, "barriers")) report.barriers = number;
    if (ends_with(part, "smem")) report.smem = number;
    if (ends_with(part, "stack size")) report.stack = number;
  }
  return report;
}

}  // namespace kp
