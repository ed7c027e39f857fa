#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>

#include "base/assets.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/process.h"
#include "base/stats.h"
#include "base/text.h"

namespace kp {
namespace {

TEST(Hash, KnownVector) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Assets, AreEmbedded) {
  EXPECT_TRUE(contains(asset("help/about.txt"), "kernelpro"));
  EXPECT_EQ(asset_paths("help/about").size(), 1U);
}

TEST(Stats, MedianAndInterval) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_EQ(median_absolute_deviation({1, 1, 2, 2, 4, 6, 9}), 1);
  EXPECT_NEAR(geometric_mean({1, 4}), 2, 1e-12);
  std::vector<double> v;
  for (int i = 0; i < 101; ++i) v.push_back(i);
  Interval ci = bootstrap_median(v, 0.95, 500, 1);
  EXPECT_LT(ci.low, 50);
  EXPECT_GT(ci.high, 50);
  EXPECT_GT(ci.low, 25);
  EXPECT_LT(ci.high, 75);
}

TEST(Text, NearestNamesTheSlip) {
  EXPECT_EQ(nearest("inptu", {"input", "output"}), "input");
  EXPECT_EQ(nearest("zzzzzz", {"input", "output"}), "");
}

TEST(Json, ErrorsNameThePlace) {
  auto bad = parse_json("{", "the plan");
  ASSERT_FALSE(bad);
  EXPECT_TRUE(contains(bad.error().message, "the plan"));
  Json j = {{"a", 1}};
  EXPECT_FALSE(get_string(j, "a", "here"));
  EXPECT_EQ(get_int(j, "a", "here").value(), 1);
}

TEST(Files, WriteIsWholeAndLockExcludes) {
  auto folder = TempFolder::make("kp-test").value();
  ASSERT_TRUE(write_file(folder.path() / "a" / "b.txt", "hello"));
  EXPECT_EQ(read_file(folder.path() / "a" / "b.txt").value(), "hello");
  EXPECT_FALSE(read_file(folder.path() / "a"));
  auto lock = FileLock::acquire(folder.path() / "lock");
  ASSERT_TRUE(lock);
  EXPECT_FALSE(FileLock::try_acquire(folder.path() / "lock"));
}

TEST(Process, RunsFeedsAndCaptures) {
  ProcessOptions o;
  o.argv = {"sh", "-c", "cat; echo err >&2; exit 3"};
  o.capture_stderr = true;
  auto r = run_process(o, "fed", 10);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->out, "fed");
  EXPECT_EQ(r->err, "err\n");
  EXPECT_EQ(r->exit_code, 3);
}

TEST(Process, DeadlineKillsTheGroup) {
  ProcessOptions o;
  o.argv = {"sh", "-c", "sleep 100 & sleep 100"};
  Stopwatch watch;
  auto r = run_process(o, "", 0.3);
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->timed_out);
  EXPECT_LT(watch.seconds(), 5);
}

TEST(Process, MissingProgramIsAnError) {
  ProcessOptions o;
  o.argv = {"/no/such/program"};
  EXPECT_FALSE(run_process(o, "", 1));
  o.argv = {"no-such-program-anywhere"};
  EXPECT_FALSE(run_process(o, "", 1));
}

TEST(LineProcess, AnswersAndDies) {
  ProcessOptions o;
  o.argv = {"sh", "-c", "read a; echo got $a; read b; kill -SEGV $$"};
  auto p = LineProcess::start(o);
  ASSERT_TRUE(p);
  ASSERT_TRUE(p->write_line("one"));
  std::string line;
  EXPECT_EQ(p->read_line(line, 5), LineProcess::Read::line);
  EXPECT_EQ(line, "got one");
  EXPECT_EQ(p->read_line(line, 0.1), LineProcess::Read::timed_out);
  ASSERT_TRUE(p->write_line("two"));
  EXPECT_EQ(p->read_line(line, 5), LineProcess::Read::closed);
  EXPECT_TRUE(contains(p->how_it_ended(), "signal 11"));
}

}  // namespace
}  // namespace kp
