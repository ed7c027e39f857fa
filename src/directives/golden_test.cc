// The words that recorded telemetry gives, whole. KERNELPRO_ACCEPT=1 rewrites the golden files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "directives/directive.h"
#include "profile/read.h"

namespace kp {
namespace {

std::string words_for(Profile profile, BoundClass bound) {
  profile.roofline.bound = bound;
  Findings findings = run_tools(profile, all_tools());
  std::string text = fmt::format("Recorded on an H200, judged as {}-bound.\n\n", name_of(bound));
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

TEST(Golden, DirectivesOfRecordedTelemetry) {
  fs::path root = KERNELPRO_SOURCE_DIR;
  auto profile = read_profile_files({root / "examples/recorded/ncu_raw_full.csv",
                                     root / "examples/recorded/ncu_source_sass.csv"});
  ASSERT_TRUE(profile) << profile.error().text();
  Ceilings ceilings;
  ceilings.dram_gbs = 4280;  // a large copy on an H200
  profile->ceilings = ceilings;
  for (BoundClass bound : {BoundClass::memory, BoundClass::latency}) {
    std::string text = words_for(*profile, bound);
    fs::path golden = root / fmt::format("tests/data/golden/directives_{}.txt", name_of(bound));
    if (std::getenv("KERNELPRO_ACCEPT") != nullptr) {
      ASSERT_TRUE(write_file(golden, text));
    } else {
      EXPECT_EQ(read_file(golden).value_or("(no file)"), text)
          << golden << ": KERNELPRO_ACCEPT=1 rewrites it; look at the difference first";
    }
  }
}

}  // namespace
}  // namespace kp
