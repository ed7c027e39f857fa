#include "search/loop.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "search/decide.h"
#include "search/fake_world.h"
#include "search/journal.h"

namespace kp {
namespace {

struct LoopTest : testing::Test {
  TempFolder folder = memory_folder("kp-loop");
  FakeWorld world;
  RunContext context{.world = world,
                     .folder = RunFolder{folder.path() / "run"},
                     .options = small_options(),
                     .start = {},
                     .seed = 11,
                     .budget = {},
                     .stop = nullptr,
                     .clock = {}};

  RunOutcome go() {
    auto outcome = optimize(context);
    EXPECT_TRUE(outcome) << outcome.error().text();
    if (!outcome) std::abort();
    return std::move(*outcome);
  }
  int count(std::string_view event) const {
    int n = 0;
    auto events = *read_journal(context.folder.journal());
    for (const Json& e : events) n += string_or(e, "event", "") == event ? 1 : 0;
    return n;
  }
};

TEST_F(LoopTest, FindsFasterKernelsAndWritesTheBest) {
  context.options.seeds = 15;
  context.options.budget.iterations = 30;
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.finished.why, FinishReason::iterations);
  const RunState& state = outcome.state;
  ASSERT_TRUE(state.tree.best());
  EXPECT_EQ(state.tree.size(), 1 + 15 + 60);
  EXPECT_GE(state.tree.at(*state.tree.best()).speedup, 3.0) << digest(state);
  EXPECT_EQ(*read_file(context.folder.best()), state.record(*state.tree.best()).source);
  EXPECT_EQ(count("asked"), 75);
  EXPECT_EQ(count("run_finished"), 1);
  EXPECT_TRUE(state.record(*state.tree.best()).diagnosed);
  EXPECT_EQ(state.tokens_in, 75 * 100);
  EXPECT_FALSE(state.ledger.rows().empty());
  EXPECT_EQ(state.tree.at(kRoot).virtual_loss, 0);
}

TEST_F(LoopTest, TheStartingCandidateIsJudgedAndProfiledFirst) {
  context.start = *parse_candidate(FakeKernel{}.source(), "baseline");
  go();
  auto events = *read_journal(context.folder.journal());
  EXPECT_EQ(string_or(events[1], "event", ""), "judged");
  EXPECT_EQ(int_or(events[1], "node", 0), 1);
  EXPECT_EQ(string_or(events[2], "event", ""), "diagnosed");
  EXPECT_EQ(string_or(events[3], "event", ""), "asked");
}

TEST_F(LoopTest, ABrokenStartingCandidateDoesNotEndTheRun) {
  context.start = *parse_candidate(FakeKernel{0, 0, 0, 2}.source(), "baseline");
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.finished.why, FinishReason::iterations);
  EXPECT_FALSE(outcome.state.tree.at(1).correct);
}

TEST_F(LoopTest, DuplicatesAreNotEvaluatedTwice) {
  context.options.budget.iterations = 30;
  world.provider_.bug_percent = 0;
  RunOutcome outcome = go();
  int duplicates = 0;
  for (const Node& n : outcome.state.tree.nodes())
    if (starts_with(n.closed, "same as node")) ++duplicates;
  EXPECT_GT(duplicates, 0) << "64 kernels exist, so some come twice";
  for (const auto& [id, times] : world.evaluated) EXPECT_EQ(times, 1) << id;
  EXPECT_EQ(static_cast<int>(world.evaluated.size()) + duplicates, outcome.state.tree.size() - 1);
}

TEST_F(LoopTest, UnreadableRepliesAndBadPlansAreJudgedNotFatal) {
  world.provider_.unreadable = {"0002", "0005"};
  world.provider_.bug_percent = 60;
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.finished.why, FinishReason::iterations);
  int unreadable = 0, plan_errors = 0;
  for (const Node& n : outcome.state.tree.nodes()) {
    const NodeRecord& record = outcome.state.record(n.id);
    if (starts_with(n.closed, "no candidate in the reply")) ++unreadable;
    if (record.verdict && record.verdict->outcome == Outcome::plan_error) {
      ++plan_errors;
      EXPECT_TRUE(contains(record.verdict->reason, "grids")) << record.verdict->reason;
    }
  }
  EXPECT_EQ(unreadable, 2);
  EXPECT_GT(plan_errors, 0);
}

TEST_F(LoopTest, AllRepliesUnreadableStillEnds) {
  for (int i = 1; i < 100; ++i) {
    std::string id = "000" + std::to_string(i);
    world.provider_.unreadable.insert(id.substr(id.size() - 4));
  }
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.finished.why, FinishReason::iterations);
  EXPECT_FALSE(outcome.state.tree.best());
  EXPECT_EQ(outcome.state.tree.size(), 1 + 4 + 12);
  EXPECT_FALSE(fs::exists(context.folder.best()));
}

TEST_F(LoopTest, FailedCallsAreTriedAgain) {
  world.provider_.failing = {{"0002", 2}};
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.finished.why, FinishReason::iterations);
  EXPECT_EQ(count("call_failed"), 2);
  EXPECT_EQ(outcome.state.tree.size(), 1 + 4 + 12);
}

TEST_F(LoopTest, AProviderThatKeepsFailingEndsTheRunWithTheBest) {
  world.provider_.failing = {{"*", 0}};
  world.when_judged = [&](const RunState&, NodeId node) {
    if (node == 7) world.provider_.failing["*"] = 3;
  };
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.finished.why, FinishReason::provider);
  EXPECT_TRUE(contains(outcome.finished.text, "the model does not answer"))
      << outcome.finished.text;
  EXPECT_TRUE(contains(outcome.finished.text, "look at the network"));
  EXPECT_TRUE(outcome.state.tree.best());
  RunOutcome again = go();
  EXPECT_EQ(again.finished.why, FinishReason::iterations) << "resume goes on";
  EXPECT_EQ(again.state.tree.size(), 1 + 4 + 12);
}

TEST_F(LoopTest, ACallThatAlwaysFailsIsDroppedOnResume) {
  world.provider_.failing = {{"0002", 1000}};
  EXPECT_EQ(go().finished.why, FinishReason::provider);
  RunOutcome again = go();
  EXPECT_EQ(again.finished.why, FinishReason::iterations);
  EXPECT_EQ(count("call_dropped"), 1);
  EXPECT_EQ(again.state.tree.size(), 1 + 3 + 12);
  EXPECT_EQ(again.state.tree.at(kRoot).virtual_loss, 0);
}

TEST_F(LoopTest, PendingRepliesStopTheRunAfterTheWholeBatchWasAsked) {
  world.provider_.waits = false;
  RunOutcome first = go();
  EXPECT_EQ(first.finished.why, FinishReason::waiting);
  EXPECT_EQ(first.finished.text, "waiting for 4 replies (fake:landscape)");
  EXPECT_EQ(world.provider_.asked, (std::vector<std::string>{"0001", "0002", "0003", "0004"}));

  world.provider_.arrived = {"0002", "0004"};
  world.provider_.asked.clear();
  RunOutcome second = go();
  EXPECT_EQ(second.finished.text, "waiting for 2 replies (fake:landscape)");
  EXPECT_EQ(second.state.tree.size(), 3);
  EXPECT_EQ(second.state.calls.size(), 4U) << "no call is asked twice under another name";

  world.provider_.arrived = {"0001", "0003"};
  RunOutcome third = go();
  EXPECT_EQ(third.finished.why, FinishReason::waiting);
  EXPECT_EQ(third.state.calls.size(), 6U) << "both candidates of an iteration at once";
  for (int i = 0; i < 10 && third.finished.why == FinishReason::waiting; ++i) {
    for (const CallRecord& c : third.state.calls) world.provider_.arrived.insert(c.id);
    third = go();
  }
  EXPECT_EQ(third.finished.why, FinishReason::iterations);
  EXPECT_EQ(third.state.tree.size(), 1 + 4 + 12);
}

TEST_F(LoopTest, TokensEndTheRun) {
  context.options.budget.tokens = 1000;
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.finished.why, FinishReason::tokens);
  EXPECT_EQ(outcome.state.tree.size(), 1 + 5) << "five calls of 200 tokens; all are judged";
  context.budget = Budget{.iterations = 6, .tokens = 2000, .minutes = 0};
  EXPECT_EQ(go().state.tree.size(), 1 + 10) << "a larger budget goes on";
}

TEST_F(LoopTest, MinutesEndTheRunAndAddUpOverResumes) {
  double now = 100;
  context.clock = [&] { return now; };
  context.options.budget.minutes = 1;
  world.provider_.before_reply = [&] { now += 25; };
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.finished.why, FinishReason::minutes);
  EXPECT_EQ(outcome.state.tree.size(), 1 + 3);
  EXPECT_DOUBLE_EQ(outcome.state.active_s, 75);
  now += 10000;  // between two sessions
  context.budget = Budget{.iterations = 6, .tokens = 0, .minutes = 2};
  RunOutcome again = go();
  EXPECT_EQ(again.finished.why, FinishReason::minutes);
  EXPECT_EQ(again.state.tree.size(), 1 + 5);
  EXPECT_DOUBLE_EQ(again.state.active_s, 125);
}

TEST_F(LoopTest, WaitingForPeopleDoesNotCount) {
  double now = 0;
  context.clock = [&] { return now; };
  context.options.budget.minutes = 1;
  world.provider_.before_reply = [&] { now += 600; };
  world.provider_.counts = false;
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.finished.why, FinishReason::iterations);
  EXPECT_DOUBLE_EQ(outcome.state.active_s, 0);
}

TEST_F(LoopTest, TheStopFlagEndsCleanly) {
  std::atomic<bool> stop = false;
  context.stop = &stop;
  world.when_judged = [&](const RunState&, NodeId node) { stop = node == 6; };
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.finished.why, FinishReason::stopped);
  EXPECT_EQ(outcome.state.tree.size(), 7);
  EXPECT_TRUE(fs::exists(context.folder.best()));
  stop = false;
  world.when_judged = nullptr;
  EXPECT_EQ(go().state.tree.size(), 1 + 4 + 12);
}

TEST_F(LoopTest, AnEnvironmentErrorIsTriedOnceMoreThenStopsCleanly) {
  world.evaluate_errors = 1;
  EXPECT_EQ(go().finished.why, FinishReason::iterations);
  EXPECT_EQ(count("environment_failed"), 1);

  FakeWorld other;
  RunContext second{.world = other,
                    .folder = RunFolder{folder.path() / "other"},
                    .options = small_options(),
                    .start = {},
                    .seed = 11,
                    .budget = {},
                    .stop = nullptr,
                    .clock = {}};
  other.when_judged = [&](const RunState&, NodeId node) {
    other.evaluate_errors = node == 5 ? 2 : 0;
  };
  auto outcome = optimize(second);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->finished.why, FinishReason::environment);
  EXPECT_TRUE(contains(outcome->finished.text, "fallen off the bus"));
  EXPECT_TRUE(contains(outcome->finished.text, "restart the machine"));
  EXPECT_EQ(outcome->state.tree.size(), 6);
  auto again = optimize(second);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->finished.why, FinishReason::iterations);
  EXPECT_EQ(again->state.tree.size(), 1 + 4 + 12) << "nothing was lost";
}

TEST_F(LoopTest, ANodeThatCannotBeProfiledIsImprovedWithoutDirectives) {
  world.diagnose_errors = 2;
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.finished.why, FinishReason::iterations);
  int without = 0;
  for (const NodeRecord& r : outcome.state.records)
    if (r.diagnosed && contains(r.diagnosis_error, "the counters are busy")) ++without;
  EXPECT_EQ(without, 1);
}

TEST_F(LoopTest, FollowedDirectivesAreHeldToAccount) {
  RunOutcome outcome = go();
  int measured = 0;
  for (const Node& n : outcome.state.tree.nodes()) {
    const NodeRecord& record = outcome.state.record(n.id);
    if (!record.followed || !record.followed->realised) continue;
    ++measured;
    EXPECT_NEAR(*record.followed->realised,
                outcome.state.record(n.parent).verdict->timing->median_ms /
                    record.verdict->timing->median_ms,
                1e-12);
    EXPECT_EQ(record.followed->bound, "memory");
    EXPECT_GT(record.followed->predicted, 1);
  }
  EXPECT_GT(measured, 0);
}

TEST_F(LoopTest, AnotherTaskOrDeviceIsRefused) {
  go();
  std::string before = *read_file(context.folder.journal());
  world.task_.tensors[0].shape = {2048};
  auto task = optimize(context);
  ASSERT_FALSE(task);
  EXPECT_TRUE(contains(task.error().text(), "is not as it was when the run started"));
  world.task_.tensors[0].shape = {1024};
  world.task_.path = "elsewhere/copy.toml";
  world.device_.name = "Other GPU";
  auto device = optimize(context);
  ASSERT_FALSE(device);
  EXPECT_TRUE(contains(device.error().text(), "measured on Fake GPU; this is Other GPU"));
  EXPECT_EQ(*read_file(context.folder.journal()), before);
  world.device_.name = "Fake GPU";
  EXPECT_TRUE(optimize(context)) << "another path of the same task is fine";
}

TEST_F(LoopTest, NonsenseIsRefusedBeforeAnythingIsWritten) {
  context.options.candidates = 0;
  EXPECT_FALSE(optimize(context));
  EXPECT_TRUE(read_journal(context.folder.journal())->empty());
}

TEST_F(LoopTest, AForeignEventIsNamed) {
  go();
  auto events = *read_journal(context.folder.journal());
  auto check = [&](std::size_t at, Json changed, const char* expected) {
    auto copy = events;
    copy[at] = std::move(changed);
    auto state = replay(copy);
    ASSERT_FALSE(state);
    EXPECT_TRUE(contains(state.error().message, expected)) << state.error().message;
  };
  check(1, {{"event", "judged"}, {"node", 9}}, "journal line 3 (judged): node 9 comes where 1");
  check(1, {{"event", "invented"}}, "\"invented\" is unknown");
  check(0, {{"event", "note"}}, "note comes before run_started");
  check(6, {{"event", "proposal"}, {"call", "0099"}, {"reply", {{"text", ""}}}},
        "call 0099 was never asked");
}

TEST_F(LoopTest, AZeroBudgetOnlySeeds) {
  context.options.budget.iterations = 0;
  EXPECT_EQ(go().state.tree.size(), 1 + 4);
}

TEST_F(LoopTest, NoSeedsStartFromTheBaselineOrAnew) {
  context.options.seeds = 0;
  context.options.budget.iterations = 3;
  context.start = *parse_candidate(FakeKernel{}.source(), "baseline");
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.state.tree.size(), 1 + 1 + 6);
  EXPECT_EQ(outcome.state.tree.at(2).parent, 1);
}

TEST_F(LoopTest, DirectivesAreFollowedInTurn) {
  context.options.seeds = 0;
  context.options.budget.iterations = 2;
  context.start = *parse_candidate(FakeKernel{}.source(), "baseline");
  world.provider_.waits = false;
  RunOutcome outcome = go();
  ASSERT_EQ(outcome.state.calls.size(), 2U);
  EXPECT_EQ(outcome.state.calls[0].directive, 0) << "the largest predicted gain first";
  EXPECT_EQ(outcome.state.calls[1].directive, 1) << "what is in flight counts as followed";
}

}  // namespace
}  // namespace kp
