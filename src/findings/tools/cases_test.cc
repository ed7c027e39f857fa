// Every tool against its own cases: what fires, what stays silent, what a missing metric does.
#include <fmt/format.h>

#include "findings/tools/case_files.h"

namespace kp {
namespace {

void check_range(const Json& expected, const char* key, double value) {
  if (!expected.contains(key)) return;
  const Json& range = expected[key];
  EXPECT_GE(value, range[0].get<double>()) << key;
  EXPECT_LE(value, range[1].get<double>()) << key;
}

void check(const Finding& finding, const Json& expected) {
  EXPECT_EQ(finding.cause, string_or(expected, "cause", "(none given)"));
  EXPECT_EQ(finding.place.kernel, string_or(expected, "kernel", "(none given)"));
  if (expected.contains("severity")) {
    EXPECT_EQ(name_of(finding.severity), expected["severity"].get<std::string>());
  }
  check_range(expected, "predicted_gain", finding.predicted_gain);
  check_range(expected, "kernel_gain", finding.numbers.at("kernel_gain"));
  const Json none = Json::object();
  const Json& numbers = expected.contains("numbers") ? expected["numbers"] : none;
  for (const auto& [name, value] : numbers.items()) {
    ASSERT_EQ(finding.numbers.count(name), 1U) << name;
    EXPECT_NEAR(finding.numbers.at(name), value.get<double>(), 0.01 * std::abs(value.get<double>()))
        << name;
  }
  const Json& words = expected.contains("words") ? expected["words"] : none;
  for (const auto& [name, value] : words.items()) {
    ASSERT_EQ(finding.words.count(name), 1U) << name;
    EXPECT_EQ(finding.words.at(name), value.get<std::string>());
  }
  EXPECT_TRUE(contains(finding.place.sass, string_or(expected, "sass", ""))) << finding.place.sass;
}

class ToolCases : public testing::TestWithParam<std::string> {
 protected:
  const Tool& tool() const {
    for (const Tool& t : all_tools()) {
      if (t.name == GetParam()) return t;
    }
    KP_CHECK(!"tool is listed");
  }
};

TEST_P(ToolCases, HasAllThreeKinds) {
  int fires = 0;
  int silent = 0;
  int missing = 0;
  for (const CaseFile& one : cases_of(tool().name)) {
    if (starts_with(one.name, "fires_")) {
      ++fires;
      EXPECT_FALSE(one.expect["findings"].empty()) << one.name;
    } else if (starts_with(one.name, "silent_")) {
      ++silent;
      EXPECT_TRUE(one.expect["findings"].empty() && one.expect["skipped"].empty()) << one.name;
    } else if (starts_with(one.name, "missing_")) {
      ++missing;
      EXPECT_TRUE(one.expect["findings"].empty() && !one.expect["skipped"].empty()) << one.name;
    } else {
      ADD_FAILURE() << one.name << " does not start with fires_, silent_ or missing_";
    }
  }
  EXPECT_GT(fires, 0);
  EXPECT_GT(silent, 0);
  EXPECT_GT(missing, 0);
}

TEST_P(ToolCases, HoldAsExpected) {
  for (const CaseFile& one : cases_of(tool().name)) {
    SCOPED_TRACE(one.name);
    Findings got = run_case(tool(), one);
    std::string all;
    for (const Finding& finding : got.findings) all += dump_json(to_json(finding)) + "\n";
    const Json& findings = one.expect["findings"];
    EXPECT_EQ(got.findings.size(), findings.size()) << all;
    for (std::size_t i = 0; i < std::min(got.findings.size(), findings.size()); ++i) {
      SCOPED_TRACE(dump_json(to_json(got.findings[i]), 1));
      check(got.findings[i], findings[i]);
    }
    const Json& skipped = one.expect["skipped"];
    ASSERT_EQ(got.skipped.size(), skipped.size());
    for (std::size_t i = 0; i < skipped.size(); ++i) {
      EXPECT_EQ(got.skipped[i].why, skipped[i].get<std::string>());
    }
  }
}

// What holds for every finding of every tool.
TEST_P(ToolCases, FindingsAreSound) {
  for (const CaseFile& one : cases_of(tool().name)) {
    for (const Finding& finding : run_case(tool(), one).findings) {
      SCOPED_TRACE(one.name + " " + finding.cause);
      EXPECT_EQ(finding.tool, tool().name);
      EXPECT_GE(finding.predicted_gain, 1);
      EXPECT_LE(finding.predicted_gain, finding.numbers.at("kernel_gain") + 1e-9);
      EXPECT_GT(finding.confidence, 0);
      EXPECT_LE(finding.confidence, 1);
      EXPECT_FALSE(finding.gain_model.empty());
      for (const auto& [name, value] : finding.numbers) {
        EXPECT_TRUE(std::isfinite(value)) << name;
      }
      Json json = to_json(finding);
      auto again = finding_from_json(json);
      ASSERT_TRUE(again) << again.error().text();
      EXPECT_EQ(dump_json(to_json(*again)), dump_json(json));
    }
  }
}

// Each needed metric, taken away alone, must be named and must not crash the tool.
TEST_P(ToolCases, EveryNeedIsReported) {
  for (CaseFile one : cases_of(tool().name)) {
    if (!starts_with(one.name, "fires_")) continue;
    one.profile.kernels.resize(1);
    for (Metric metric : tool().needs) {
      CaseFile without = one;
      without.profile.kernels[0].metrics.erase(metric);
      Findings got = run_case(tool(), without);
      ASSERT_EQ(got.skipped.size(), 1U) << one.name;
      EXPECT_TRUE(contains(got.skipped[0].why, info_of(metric).name)) << got.skipped[0].why;
      EXPECT_TRUE(got.findings.empty());
    }
  }
}

// tool.md: the first sentence is Tool.says, and the sample is a real finding of a named case
// ("## Sample: fires_scale_add"). KERNELPRO_ACCEPT=1 rewrites the sample.
TEST_P(ToolCases, PageAgreesWithTheTool) {
  fs::path path = tool_folder(tool().name) / "tool.md";
  std::string page = read_file(path).value_or("");
  std::string title = fmt::format("# {}\n\n", tool().name);
  ASSERT_TRUE(starts_with(page, title)) << path;
  std::size_t end = page.find("\n\n", title.size());
  std::string says = replace_all(page.substr(title.size(), end - title.size()), "\n", " ");
  EXPECT_TRUE(starts_with(says, tool().says)) << says;
  for (const char* heading : {"## Sample: ", "## Thresholds\n", "## Silent\n", "## Gain\n"}) {
    EXPECT_TRUE(contains(page, heading)) << path << " lacks " << heading;
  }

  std::size_t name_at = page.find("## Sample: ") + 11;
  std::string name = page.substr(name_at, page.find('\n', name_at) - name_at);
  std::string sample;
  for (const CaseFile& one : cases_of(tool().name)) {
    if (one.name == name) sample = dump_json(to_json(run_case(tool(), one).findings.at(0)), 2);
  }
  ASSERT_FALSE(sample.empty()) << "no case " << name;
  std::size_t from = page.find("```json\n", name_at) + 8;
  std::size_t to = page.find("```", from);
  ASSERT_NE(to, std::string::npos);
  sample += "\n";
  if (std::getenv("KERNELPRO_ACCEPT") != nullptr) {
    ASSERT_TRUE(write_file(path, page.substr(0, from) + sample + page.substr(to)));
  } else {
    EXPECT_EQ(page.substr(from, to - from), sample) << "KERNELPRO_ACCEPT=1 rewrites it";
  }
}

std::vector<std::string> tool_names() {
  std::vector<std::string> names;
  for (const Tool& tool : all_tools()) names.emplace_back(tool.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, ToolCases, testing::ValuesIn(tool_names()),
                         [](const auto& one) { return one.param; });

// A folder that nobody lists would never run.
TEST(AllTools, EveryFolderIsListed) {
  std::vector<std::string> folders;
  for (const auto& entry : fs::directory_iterator(tool_folder(""))) {
    if (entry.is_directory()) folders.push_back(entry.path().filename());
  }
  std::sort(folders.begin(), folders.end());
  EXPECT_EQ(folders, tool_names());
}

}  // namespace
}  // namespace kp
