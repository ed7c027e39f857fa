// The words that recorded telemetry gives, whole. KERNELPRO_ACCEPT=1 rewrites the golden files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "directives/directive.h"
#include "profile/read.h"
#include "profile/roofline.h"

namespace kp {
namespace {

std::string words_of_recording(const Profile& profile, std::string_view judged) {
  Findings findings = run_tools(profile, all_tools());
  std::string text = fmt::format("Recorded on an H200, judged as {}.\n\n", judged);
  for (const Directive& d : make_directives(findings, 10)) {
    text += fmt::format("=== {} {}/{} ({:.3f}x, confidence {})\n# {}\n{}\n\n", d.id, d.tool,
                        d.cause, d.predicted_gain, d.confidence, d.title, d.text);
  }
  text += "=== skipped\n";
  for (const Skipped& s : findings.skipped) {
    text += fmt::format("{} on {}: {}\n", s.tool, s.kernel, s.why);
  }
  return text;
}

void compare(const std::string& text, std::string_view name) {
  fs::path golden =
      fs::path(KERNELPRO_SOURCE_DIR) / fmt::format("tests/data/golden/directives_{}.txt", name);
  if (std::getenv("KERNELPRO_ACCEPT") != nullptr) {
    ASSERT_TRUE(write_file(golden, text));
  } else {
    EXPECT_EQ(read_file(golden).value_or("(no file)"), text)
        << golden << ": KERNELPRO_ACCEPT=1 rewrites it; look at the difference first";
  }
}

TEST(Golden, DirectivesOfRecordedTelemetry) {
  fs::path root = KERNELPRO_SOURCE_DIR;
  auto profile = read_profile_files({root / "examples/recorded/ncu_raw_full.csv",
                                     root / "examples/recorded/ncu_source_sass.csv"});
  ASSERT_TRUE(profile) << profile.error().text();
  Ceilings ceilings;
  ceilings.dram_gbs = 4280;  // a large copy on an H200
  profile->ceilings = ceilings;
  for (BoundClass bound : {BoundClass::memory, BoundClass::latency}) {
    profile->roofline.bound = bound;
    compare(words_of_recording(*profile, fmt::format("{}-bound", name_of(bound))), name_of(bound));
  }
}

// `kernelpro profile FILE...`: no task and no ceilings, each kernel judged by its own counters.
TEST(Golden, WhatProfileSaysOfTheFiles) {
  fs::path root = KERNELPRO_SOURCE_DIR;
  auto profile = read_profile_files({root / "examples/recorded/ncu_raw_full.csv",
                                     root / "examples/recorded/ncu_source_sass.csv"});
  ASSERT_TRUE(profile) << profile.error().text();
  add_measurement(*profile);
  compare(words_of_recording(*profile, "measured"), "measured");

  Findings findings = run_tools(*profile, all_tools());
  std::set<std::string> said;
  for (const Directive& d : make_directives(findings, 10)) said.insert(d.kernel + " " + d.tool);
  for (const char* must :
       {"gemm_naive shared_memory_tiling", "gemm_naive tensor_core", "strided uncoalesced_access"})
    EXPECT_EQ(said.count(must), 1U) << must;
  // Its DRAM directive is folded into that of vectorization, which asks for the same; the finding
  // stands on its own.
  EXPECT_TRUE(std::any_of(findings.findings.begin(), findings.findings.end(), [](const Finding& f) {
    return f.place.kernel == "scale_add" && f.tool == "high_dram_throughput";
  }));
}

// The details page alone, the first thing that users have.
TEST(Golden, WhatProfileSaysOfTheDetails) {
  auto profile =
      read_profile_files({fs::path(KERNELPRO_SOURCE_DIR) / "examples/recorded/ncu_details.csv"});
  ASSERT_TRUE(profile) << profile.error().text();
  add_measurement(*profile);
  std::set<std::string> said;
  for (const Directive& d : make_directives(run_tools(*profile, all_tools()), 10)) {
    said.insert(d.kernel + " " + d.tool);
  }
  EXPECT_EQ(said.count("gemm_naive shared_memory_tiling"), 1U);
}

}  // namespace
}  // namespace kp
