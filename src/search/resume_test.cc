// Resume is replay: whatever is cut off the journal, and whenever the process is killed, the run
// ends as it would have ended undisturbed.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/rng.h"
#include "base/text.h"
#include "search/fake_world.h"
#include "search/journal.h"

namespace kp {
namespace {

struct ResumeTest : testing::Test {
  TempFolder folder = memory_folder("kp-resume");

  RunFolder run(const std::string& name) const { return RunFolder{folder.path() / name}; }
  static RunContext context(FakeWorld& world, const RunFolder& where) {
    RunContext c{.world = world,
                 .folder = where,
                 .options = small_options(),
                 .start = {},
                 .seed = 11,
                 .budget = {},
                 .stop = nullptr,
                 .clock = {}};
    c.start = *parse_candidate(FakeKernel{}.source(), "baseline");
    return c;
  }
  static std::string whole(const RunFolder& where, int failures = 0) {
    FakeWorld world;
    world.provider_.failing = {{"0003", failures}};
    auto outcome = optimize(context(world, where));
    EXPECT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(outcome->finished.why, FinishReason::iterations);
    return digest(outcome->state);
  }
};

TEST_F(ResumeTest, CutAtEveryEventItEndsTheSame) {
  std::string expected = whole(run("whole"), 1);
  std::string text = *read_file(run("whole").journal());
  std::vector<std::size_t> cuts = {0};
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') cuts.push_back(i + 1);
  ASSERT_GT(cuts.size(), 40U);
  Rng rng(5);
  for (int i = 0; i < 40; ++i) cuts.push_back(rng.below(text.size()));
  for (std::size_t cut : cuts) {
    RunFolder where = run("cut" + std::to_string(cut));
    ASSERT_TRUE(write_file(where.journal(), text.substr(0, cut)));
    FakeWorld world;
    std::string kept = text.substr(0, cut);
    kept.resize(kept.rfind('\n') + 1);  // what a torn last line leaves
    bool failed = contains(kept, "\"call_failed\"");
    world.provider_.failing = {{"0003", failed ? 0 : 1}};
    auto outcome = optimize(context(world, where));
    ASSERT_TRUE(outcome) << "cut at " << cut << ": " << outcome.error().text();
    EXPECT_EQ(digest(outcome->state), expected) << "cut at " << cut;
    EXPECT_EQ(*read_file(where.best()), outcome->state.record(*outcome->state.tree.best()).source);
    auto replayed = replay(*read_journal(where.journal()));
    ASSERT_TRUE(replayed) << replayed.error().text();
    EXPECT_EQ(digest(*replayed), digest(outcome->state)) << "what is read is what was lived";
  }
}

TEST_F(ResumeTest, NothingThatWasJudgedIsJudgedAgain) {
  whole(run("whole"));
  std::string text = *read_file(run("whole").journal());
  auto lines = lines_of(text);
  std::size_t half = 0;
  std::set<std::string> known;
  for (std::size_t i = 0; i < lines.size() / 2; ++i) {
    half += lines[i].size() + 1;
    if (auto event = parse_json(lines[i], "line");
        event && string_or(*event, "event", "") == "judged")
      known.insert(string_or(*event, "candidate", ""));
  }
  ASSERT_GT(known.size(), 3U);
  ASSERT_TRUE(write_file(run("half").journal(), text.substr(0, half)));
  FakeWorld world;
  ASSERT_TRUE(optimize(context(world, run("half"))));
  for (const std::string& id : known) EXPECT_FALSE(world.evaluated.contains(id)) << id;
  for (const auto& [id, times] : world.evaluated) EXPECT_EQ(times, 1) << id;
}

// The world of a run whose replies come from its own journal.
struct ReplayedWorld : FakeWorld {
  std::unique_ptr<Provider> recorded;
  Provider& provider() override { return *recorded; }
};

TEST_F(ResumeTest, ReplayOfTheRepliesGivesTheSameTree) {
  std::string expected = whole(run("whole"));
  ReplayedWorld world;
  ProviderOptions options;
  options.kind = "replay";
  options.folder = run("whole").path.string();
  auto provider = make_provider(options);
  ASSERT_TRUE(provider) << provider.error().text();
  world.recorded = std::move(*provider);
  auto outcome = optimize(context(world, run("again")));
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(digest(outcome->state), expected);
}

// A child runs the loop on the disk and is killed at a random moment, again and again.
TEST_F(ResumeTest, KilledAtRandomMomentsItEndsTheSame) {
  std::string expected = whole(run("whole"));
  Rng rng(17);
  int kills = 0;
  for (int chain = 0; kills < 60; ++chain) {
    RunFolder where = run("killed" + std::to_string(chain));
    std::size_t least = 0;
    bool ended = false;
    while (!ended) {
      pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        FakeWorld world;
        world.provider_.before_reply = [] { ::usleep(300); };
        world.when_judged = [](const RunState&, NodeId) { ::usleep(300); };
        auto outcome = optimize(context(world, where));
        ::_exit(outcome && outcome->finished.why == FinishReason::iterations ? 0 : 1);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(2000 + rng.below(15000)));
      ::kill(child, SIGKILL);
      int status = 0;
      ::waitpid(child, &status, 0);
      ended = WIFEXITED(status);
      if (ended) {
        EXPECT_EQ(WEXITSTATUS(status), 0);
      } else {
        ++kills;
      }
      if (!fs::exists(where.journal())) continue;  // killed before it began
      auto events = read_journal(where.journal());
      ASSERT_TRUE(events) << events.error().text();
      ASSERT_GE(events->size(), least) << "an event was lost";
      least = events->size();
    }
    auto state = replay(*read_journal(where.journal()));
    ASSERT_TRUE(state) << state.error().text();
    EXPECT_EQ(digest(*state), expected);
    EXPECT_EQ(*read_file(where.best()), state->record(*state->tree.best()).source);
  }
  EXPECT_GE(kills, 50);
}

}  // namespace
}  // namespace kp
