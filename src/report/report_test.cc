// Each text against a file in golden/. KERNELPRO_ACCEPT=1 report_tests writes them anew: look at
// the difference before it is committed.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "base/text.h"
#include "report/run.h"
#include "report/text.h"
#include "search/events.h"

namespace kp {
namespace {

void expect_golden(const std::string& name, const std::string& text) {
  fs::path path = fs::path(KERNELPRO_SOURCE_DIR) / "src/report/golden" / name;
  if (std::getenv("KERNELPRO_ACCEPT") != nullptr) {
    ASSERT_TRUE(write_file(path, text + "\n"));
    return;
  }
  auto expected = read_file(path);
  ASSERT_TRUE(expected) << expected.error().text();
  EXPECT_EQ(text + "\n", *expected) << "if this is what is wanted: KERNELPRO_ACCEPT=1 report_tests";
}

Timing timing(double ms, const char* mode) {
  Timing t;
  t.median_ms = ms;
  t.mad_ms = ms / 200;
  t.ci95_ms = {ms * 0.99, ms * 1.01};
  t.samples = 120;
  t.mode = mode;
  return t;
}

Verdict correct(double ms) {
  Verdict v;
  v.seeds = 3;
  v.accuracy_class = "fp32-equivalent";
  LeafError leaf;
  leaf.tensor = "y";
  leaf.ok = true;
  leaf.rel_l2 = 3.1e-8;
  leaf.eager_rel_l2 = 2.9e-8;
  leaf.max_abs = 2.4e-7;
  v.leaves = {leaf};
  v.timings = {timing(ms, "stream"), timing(ms * 1.1, "graph")};
  v.timing = v.timings[0];
  v.baselines = {{"eager", timing(2.0, "eager")}, {"torch.compile", timing(1.5, "eager")}};
  v.stages = {{"build", 0.031}, {"run", 0.012}, {"time", 0.52}};
  return v;
}

Verdict broken() {
  Verdict v;
  v.outcome = Outcome::compile_error;
  v.reason = "line 7: identifier \"foo\" is undefined";
  v.detail = "line 7: error: identifier \"foo\" is undefined\nline 9: error: expected a \";\"";
  v.stages = {{"build", 0.02}};
  return v;
}

// A run of one seed, two improvements and a reply without code, as its journal would hold it.
struct RunTest : testing::Test {
  RunState state;
  RunFolder folder{"runs/relu-1"};
  int calls = 0;

  void apply(Json event, double active_s) {
    event["active_s"] = active_s;
    auto applied = state.apply(event);
    ASSERT_TRUE(applied) << applied.error().text();
  }
  void propose(Act act, NodeId parent, int directive) {
    std::string call = "000" + std::to_string(++calls);
    ProposalPlan plan{.iteration = calls > 1 ? calls - 1 : 0,
                      .act = act,
                      .parent = parent,
                      .directive = directive,
                      .weight = 1};
    apply(asked_event(call, plan, Prompt{}), calls);
    apply(proposal_event(call, Reply{"text", "some-model", 1000, 200, 4.0}), calls);
  }
  void judge(Json verdict, const std::string& idea, Json followed) {
    apply({{"event", "judged"},
           {"call", "000" + std::to_string(calls)},
           {"node", state.tree.size()},
           {"candidate", "c" + std::to_string(calls)},
           {"idea", idea},
           {"source", "code"},
           {"verdict", std::move(verdict)},
           {"closed", ""},
           {"followed", std::move(followed)}},
          calls + 0.5);
  }
  void SetUp() override {
    apply({{"event", "run_started"},
           {"seed", 1},
           {"task", {{"name", "relu"}, {"path", "relu.py"}, {"hash", "h"}}},
           {"device", "NVIDIA H200"},
           {"precision", "strict"},
           {"provider", "openai:some-model"},
           {"roofline",
            {{"bound", "memory"}, {"speed_of_light_ms", 0.5}, {"why", "It must move 2 GB."}}},
           {"options", to_json(SearchOptions{})},
           {"start", nullptr}},
          0);
  }
  void play() {
    propose(Act::seed, kRoot, -1);
    judge(to_json(correct(1.6)), "one thread an element", nullptr);
    Diagnosis diagnosis;
    Directive d;
    d.id = "d1";
    d.tool = "vectorization";
    d.cause = "narrow_loads";
    d.predicted_gain = 2.5;
    diagnosis.directives = {d};
    apply(diagnosed_event(1, diagnosis), 2);
    propose(Act::improve, 1, 0);
    judge(to_json(correct(0.8)), "loads of 128 bits",
          to_json(Followed{"vectorization", "narrow_loads", "memory", 2.5, 2.0}));
    propose(Act::improve, 2, -1);
    judge(to_json(broken()), "a persistent grid", nullptr);
    propose(Act::repair, 3, -1);
    apply({{"event", "judged"},
           {"call", "0004"},
           {"node", 4},
           {"verdict", nullptr},
           {"closed", "no candidate in the reply: there is no code fence"}},
          9);
  }
};

TEST_F(RunTest, ProgressLines) {
  play();
  std::string lines;
  for (NodeId id = 1; id < state.tree.size(); ++id) lines += progress_line(state, id) + "\n";
  EXPECT_EQ(lines_of(lines).size(), 4U + (lines_of(lines).back().empty() ? 1U : 0U));
  expect_golden("progress.txt", lines);
}

TEST_F(RunTest, FinalReport) {
  play();
  apply(finished_event({FinishReason::iterations, "3 iterations are done"}), 10);
  expect_golden("run.txt", describe_run(state, folder));
}

TEST_F(RunTest, FinalReportAsJson) {
  play();
  apply(finished_event({FinishReason::waiting, "waiting for 2 replies (mailbox:box)"}), 10);
  Json report = report_json(state, folder);
  expect_golden("run.json", dump_json(report, 2));
  EXPECT_EQ(report["best"]["node"], 2);
  EXPECT_EQ(report["nodes"].size(), 4U);
  EXPECT_EQ(report["nodes"][1]["followed"]["realised"], 2.0);
  EXPECT_EQ(report["finished"]["why"], "waiting");
}

TEST_F(RunTest, ARunWithoutACorrectCandidate) {
  propose(Act::seed, kRoot, -1);
  judge(to_json(broken()), "", nullptr);
  apply(finished_event({FinishReason::provider, "3 calls failed in a row"}), 3);
  std::string text = describe_run(state, folder);
  expect_golden("run_nothing.txt", text);
  EXPECT_TRUE(contains(text, "No correct candidate"));
  EXPECT_FALSE(report_json(state, folder).contains("best"));
}

TEST(Verdicts, Correct) {
  expect_golden("verdict_correct.txt", describe(correct(0.8), 0.7));
}

TEST(Verdicts, Broken) {
  expect_golden("verdict_broken.txt", describe(broken(), 0.02));
}

TEST(Profiles, TableRooflineDirectivesAndWhatIsMissing) {
  Profile profile;
  profile.device.emplace().name = "NVIDIA H200";
  profile.roofline.bound = BoundClass::memory;
  profile.roofline.speed_of_light_ms = 0.5;
  profile.roofline.memory_ms = 0.5;
  profile.roofline.launch_ms = 0.002;
  profile.roofline.why = "It must move 2 GB.";
  KernelProfile kernel;
  kernel.kernel = "a_kernel_with_quite_a_long_name_indeed";
  kernel.metrics[Metric::duration_us] = {1234.5, "gpu__time_duration.sum"};
  kernel.metrics[Metric::dram_throughput_pct] = {88.25, "dram"};
  profile.kernels = {kernel};
  profile.notes = {"occupancy was not measured"};
  Directive d;
  d.id = "d1";
  d.tool = "vectorization";
  d.title = "Load 128 bits a thread";
  d.text = "Replace the scalar loads.";
  d.predicted_gain = 1.4;
  d.confidence = 0.8;
  Findings findings;
  findings.skipped = {{"warp_stall", "k", "off for memory-bound kernels"},
                      {"warp_stall", "k", "off for memory-bound kernels"},
                      {"tensor_core", "", "needs SASS"}};
  expect_golden("profile.txt", describe(profile, findings, {d}));
  expect_golden("profile_empty.txt", describe(Profile{}, {}, {}));
}

}  // namespace
}  // namespace kp
