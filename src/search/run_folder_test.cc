#include "search/run_folder.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "search/fake_world.h"

namespace kp {
namespace {

struct RunFolderTest : testing::Test {
  TempFolder temp = memory_folder("kp-runs");
  fs::path root = temp.path() / "runs";

  RunOutcome run_in(const RunFolder& folder) {
    FakeWorld world;
    SearchOptions options = small_options();
    options.budget.iterations = 1;
    return *optimize({.world = world,
                      .folder = folder,
                      .options = options,
                      .start = {},
                      .seed = 2,
                      .budget = {},
                      .stop = nullptr,
                      .clock = {}});
  }
};

TEST_F(RunFolderTest, NamesAreCleanAndNeverTaken) {
  auto first = make_run_folder(root, "../a b");
  auto second = make_run_folder(root, "../a b");
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->path, second->path);
  EXPECT_EQ(first->path.parent_path(), root);
  EXPECT_TRUE(starts_with(first->path.filename().string(), "a-b-20")) << first->path;
  EXPECT_TRUE(fs::is_directory(second->path));
  EXPECT_TRUE(write_file(temp.path() / "file", ""));
  EXPECT_FALSE(make_run_folder(temp.path() / "file", "x"));
}

TEST_F(RunFolderTest, RunsAreFoundByPathNameJournalOrLast) {
  EXPECT_TRUE(run_folders(root).empty());
  EXPECT_FALSE(find_run_folder(root, "last"));
  RunFolder folder = *make_run_folder(root, "relu");
  EXPECT_FALSE(find_run_folder(root, "last")) << "a folder without a journal is no run";
  run_in(folder);
  std::string name = folder.path.filename().string();
  for (std::string given : {std::string("last"), name, folder.path.string(),
                            folder.path.string() + "/", folder.journal().string()}) {
    auto found = find_run_folder(root, given);
    ASSERT_TRUE(found) << given << ": " << found.error().text();
    EXPECT_TRUE(fs::equivalent(found->path, folder.path)) << given;
  }
  auto wrong = find_run_folder(root, name + "1");
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(contains(wrong.error().hint, "did you mean " + name)) << wrong.error().text();
}

TEST_F(RunFolderTest, SummariesSayWhatBecameOfARun) {
  RunFolder folder = *make_run_folder(root, "relu");
  RunOutcome outcome = run_in(folder);
  RunSummary summary = summarize_run(folder);
  EXPECT_EQ(summary.task, "copy");
  EXPECT_EQ(summary.candidates, 6);
  EXPECT_EQ(summary.state, "finished: iterations");
  EXPECT_EQ(summary.best_speedup, outcome.state.tree.at(*outcome.state.tree.best()).speedup);
  RunFolder bad = *make_run_folder(root, "bad");
  ASSERT_TRUE(write_file(bad.journal(), "{\"kernelpro_journal\": 1}\nnot json\n"));
  EXPECT_TRUE(starts_with(summarize_run(bad).state, "unreadable: "));
  EXPECT_EQ(run_folders(root).size(), 2U);
}

}  // namespace
}  // namespace kp
