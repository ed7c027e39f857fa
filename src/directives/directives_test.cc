#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/assets.h"
#include "directives/reconcile.h"
#include "directives/words.h"
#include "findings/tools/case_files.h"

namespace kp {
namespace {

Finding finding(std::string tool, std::string cause, double gain, double confidence = 0.5) {
  Finding f;
  f.tool = std::move(tool);
  f.cause = std::move(cause);
  f.place.kernel = "k";
  f.predicted_gain = gain;
  f.confidence = confidence;
  f.numbers = {{"kernel_gain", gain}, {"share_pct", 100}};
  f.gain_model = "a model";
  return f;
}

// Findings of all cases of all tools.
std::vector<Finding> all_findings() {
  std::vector<Finding> all;
  for (const Tool& tool : all_tools()) {
    for (const CaseFile& one : cases_of(tool.name)) {
      std::vector<Finding> findings = run_case(tool, one).findings;
      all.insert(all.end(), findings.begin(), findings.end());
    }
  }
  return all;
}

std::vector<std::string> templates() {
  std::vector<std::string> names;  // "vectorization/narrow_loads"
  for (std::string_view path : asset_paths("directives/")) {
    std::string name(path.substr(std::string_view("directives/").size()));
    if (contains(name, "/")) names.push_back(name.substr(0, name.size() - 3));
  }
  return names;
}

TEST(Templates, EveryCaseFillsItsTemplate) {
  std::vector<Finding> findings = all_findings();
  ASSERT_GT(findings.size(), 30U);
  for (const Finding& f : findings) {
    SCOPED_TRACE(f.tool + "/" + f.cause);
    Words words = words_of(f);
    EXPECT_TRUE(words.missing.empty()) << join(words.missing, ", ");
    EXPECT_TRUE(contains(words.title, f.place.kernel)) << words.title;
    for (const char* part : {"**Do**: ", "**Why**: ", "**Watch**: ", "**Gain**: "}) {
      EXPECT_TRUE(contains(words.text, part)) << "lacks " << part << words.text;
    }
    EXPECT_FALSE(contains(words.text, "{{")) << words.text;
    EXPECT_FALSE(contains(words.text, "&quot;") || contains(words.text, "&amp;")) << words.text;
  }
}

TEST(Templates, EachIsReachedByACase) {
  std::set<std::string> reached;
  for (const Finding& f : all_findings()) reached.insert(f.tool + "/" + f.cause);
  for (const std::string& name : templates()) {
    EXPECT_EQ(reached.count(name), 1U) << "no case fires assets/directives/" << name << ".md";
  }
}

TEST(Templates, AnUnfilledVariableIsNoticed) {
  Finding f = finding("vectorization", "narrow_loads", 1.5);
  Words words = render(f, "# T {{kernel}}\nbody {{nope}}{{#has_line}} {{line}}{{/has_line}}\n");
  EXPECT_EQ(words.title, "T k");
  EXPECT_EQ(words.missing, std::vector<std::string>{"nope"});
  f.numbers.erase("kernel_gain");
  EXPECT_FALSE(words_of(f).missing.empty());
}

TEST(Words, NumbersHaveUnits) {
  EXPECT_EQ(format_number("dram_gbs", 3420.98), "3.42 TB/s");
  EXPECT_EQ(format_number("dram_gbs", 14.4746), "14.5 GB/s");
  EXPECT_EQ(format_number("stall_pct", 83.79), "83.8 %");
  EXPECT_EQ(format_number("duration_us", 231.904), "232 us");
  EXPECT_EQ(format_number("duration_us", 3154.656), "3.15 ms");
  EXPECT_EQ(format_number("moved_bytes", 4563937280.0), "4.56 GB");
  EXPECT_EQ(format_number("smem_bytes", 102400), "100 KiB");
  EXPECT_EQ(format_number("width_bits", 32), "32 bits");
  EXPECT_EQ(format_number("predicted_gain", 1.2511), "1.25x");
  EXPECT_EQ(format_number("grid_blocks", 262144), "262144");
  EXPECT_EQ(format_number("matmul_gflop", 17.179869), "17.2 GFLOP");
  EXPECT_EQ(format_number("waves_per_sm", 0.0152), "0.0152");
  EXPECT_EQ(format_number("moved_bytes", 0), "0 bytes");
}

TEST(MakeDirectives, RanksCutsAndNumbers) {
  Findings findings;
  findings.findings = {finding("warp_stall", "barrier", 1.2), finding("warp_stall", "membar", 3),
                       finding("warp_stall", "drain", 1.9, 0.9)};
  for (Finding& f : findings.findings) {
    f.numbers["stall_cycles"] = f.numbers["cycles_per_issue"] = f.numbers["stall_pct"] = 1;
    f.numbers["issue_active_pct"] = 40;
  }
  std::vector<Directive> all = make_directives(findings, 10);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].cause, "membar");  // (3 - 1) x 0.5 > (1.9 - 1) x 0.9
  EXPECT_EQ(all[1].cause, "drain");
  EXPECT_EQ(all[2].id, "d3");
  EXPECT_EQ(make_directives(findings, 2).size(), 2U);
  EXPECT_TRUE(make_directives(findings, 0).empty());
  EXPECT_TRUE(make_directives(findings, -1).empty());
  EXPECT_TRUE(make_directives(Findings{}, 5).empty());
}

TEST(Reconcile, LoadsTakeStoresAlongAndAddTheGain) {
  auto all = reconcile({finding("vectorization", "narrow_loads", 1.25),
                        finding("vectorization", "narrow_stores", 1.1)});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].finding.cause, "narrow_loads");
  EXPECT_NEAR(all[0].finding.predicted_gain, 1 / (0.8 + 1 / 1.1 - 1), 1e-9);
  ASSERT_EQ(all[0].notes.size(), 1U);
  EXPECT_TRUE(contains(all[0].notes[0], "stores in the same step"));
}

TEST(Reconcile, StrongerOfTwoIsKeptAndNamesTheOther) {
  Finding registers = finding("occupancy_limiter", "registers", 1.5);
  Finding wait = finding("warp_stall", "wait", 1.2);
  auto all = reconcile({registers, wait});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].finding.cause, "registers");
  EXPECT_TRUE(contains(all[0].notes.at(0), "Give each thread of k independent instructions"));
  wait.predicted_gain = 2;
  EXPECT_EQ(reconcile({registers, wait}).at(0).finding.cause, "wait");
}

TEST(Reconcile, OtherKernelsAreLeftAlone) {
  Finding a = finding("occupancy_limiter", "registers", 1.5);
  Finding b = finding("warp_stall", "wait", 1.2);
  b.place.kernel = "other";
  auto all = reconcile({a, b});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[0].notes.empty() && all[1].notes.empty());
}

TEST(Reconcile, WildcardDropsBothAndKeepsTheirNotes) {
  auto all = reconcile({finding("vectorization", "narrow_loads", 1.5),
                        finding("vectorization", "narrow_stores", 1.2),
                        finding("occupancy_limiter", "grid_too_small", 4)});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].finding.cause, "grid_too_small");
  EXPECT_EQ(all[0].notes.size(), 2U);
}

// A pair about a template that does not exist would never apply.
TEST(Reconcile, PairsNameTemplates) {
  std::vector<std::string> names = templates();
  Json json = parse_json(asset("directives/reconcile.json"), "reconcile.json").value();
  for (const Json& pair : json["pairs"]) {
    for (const char* side : {"first", "second"}) {
      std::string pattern = pair[side].get<std::string>();
      bool known = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return ends_with(pattern, "/*") ? starts_with(name, pattern.substr(0, pattern.size() - 1))
                                        : name == pattern;
      });
      EXPECT_TRUE(known) << pattern;
    }
    EXPECT_FALSE(string_or(pair, "reason", "").empty());
  }
}

TEST(DirectiveJson, RoundTripAndRefusal) {
  Directive d{"d1", "warp_stall", "wait", "k", "Title", "Text \"quoted\"\n", 1.5, 0.4};
  Json json = to_json(d);
  auto again = directive_from_json(json);
  ASSERT_TRUE(again);
  EXPECT_EQ(dump_json(to_json(*again)), dump_json(json));
  json["confidence"] = "much";
  EXPECT_FALSE(directive_from_json(json));
  EXPECT_FALSE(directive_from_json(Json("d1")));
}

}  // namespace
}  // namespace kp
