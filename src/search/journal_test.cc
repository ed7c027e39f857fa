#include "search/journal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/rng.h"
#include "base/text.h"

namespace kp {
namespace {

struct JournalTest : testing::Test {
  TempFolder folder = std::move(*TempFolder::make("kp-journal"));
  fs::path file = folder.path() / "journal.jsonl";
};

Json event(int i) {
  return {{"event", "note"}, {"i", i}, {"text", std::string(i % 5, 'x')}};
}

TEST_F(JournalTest, KeepsEventsInOrder) {
  {
    auto journal = Journal::open(file);
    ASSERT_TRUE(journal) << journal.error().text();
    EXPECT_TRUE(journal->events().empty());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(journal->append(event(i)));
  }
  auto again = Journal::open(file);
  ASSERT_TRUE(again);
  ASSERT_EQ(again->events().size(), 3U);
  EXPECT_EQ(again->events()[2], event(2));
  EXPECT_EQ(lines_of(*read_file(file)).front(), R"({"kernelpro_journal":1})");
}

TEST_F(JournalTest, TruncatedAtEveryByteKeepsAllWholeEvents) {
  std::string text;
  {
    auto journal = Journal::open(file);
    ASSERT_TRUE(journal);
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(journal->append(event(i)));
  }
  text = *read_file(file);
  for (std::size_t size = 0; size <= text.size(); ++size) {
    std::string part = text.substr(0, size);
    ASSERT_TRUE(write_file(file, part));
    auto newlines = static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n'));
    std::size_t whole = newlines > 0 ? newlines - 1 : 0;
    auto seen = read_journal(file);
    ASSERT_TRUE(seen) << size << ": " << seen.error().text();
    EXPECT_EQ(seen->size(), whole);
    {
      auto journal = Journal::open(file);
      ASSERT_TRUE(journal) << size << ": " << journal.error().text();
      ASSERT_EQ(journal->events().size(), whole) << size;
      ASSERT_TRUE(journal->append(event(99)));
    }
    auto after = Journal::open(file);
    ASSERT_TRUE(after) << size << ": " << after.error().text();
    ASSERT_EQ(after->events().size(), whole + 1);
    for (std::size_t i = 0; i < whole; ++i)
      EXPECT_EQ(after->events()[i], event(static_cast<int>(i)));
    EXPECT_EQ(after->events().back(), event(99));
  }
}

TEST_F(JournalTest, ASecondOpenerIsRefused) {
  auto first = Journal::open(file);
  ASSERT_TRUE(first);
  auto second = Journal::open(file);
  ASSERT_FALSE(second);
  EXPECT_TRUE(contains(second.error().text(), "held by another process")) << second.error().text();
  EXPECT_TRUE(first->append(event(1)));
  EXPECT_TRUE(read_journal(file)) << "reading takes no lock";
  Journal moved = std::move(*first);
  EXPECT_FALSE(Journal::open(file)) << "the lock moves with the journal";
}

TEST_F(JournalTest, ANewerVersionIsRefusedAndLeftAlone) {
  std::string text = "{\"kernelpro_journal\": 2}\n{\"event\": \"other\"}\n{torn";
  ASSERT_TRUE(write_file(file, text));
  auto journal = Journal::open(file);
  ASSERT_FALSE(journal);
  EXPECT_TRUE(contains(journal.error().text(), "version 2; this kernelpro reads up to version 1"))
      << journal.error().text();
  EXPECT_EQ(*read_file(file), text);
}

TEST_F(JournalTest, OtherFilesAreRefusedAndLeftAlone) {
  for (std::string text : {"hello", "hello\n", "[1]\n", "{\"event\": \"note\"}\n", "{\"kernelpX"}) {
    ASSERT_TRUE(write_file(file, text));
    auto journal = Journal::open(file);
    ASSERT_FALSE(journal) << text;
    EXPECT_TRUE(contains(journal.error().text(), "not a journal")) << journal.error().text();
    EXPECT_EQ(*read_file(file), text);
  }
  EXPECT_FALSE(read_journal(folder.path() / "none.jsonl"));
  EXPECT_FALSE(Journal::open(folder.path()));
}

TEST_F(JournalTest, ADamagedLineIsNamedByNumber) {
  for (std::string bad : {"{\"event\": \"no", "17", "{\"nothing\": 1}", "", "\x00\x01"}) {
    std::string text =
        "{\"kernelpro_journal\": 1}\n{\"event\": \"note\"}\n" + bad + "\n{\"event\": \"note\"}\n";
    ASSERT_TRUE(write_file(file, text));
    auto journal = Journal::open(file);
    ASSERT_FALSE(journal) << bad;
    EXPECT_TRUE(contains(journal.error().text(), "journal.jsonl:3: damaged line"))
        << journal.error().text();
    EXPECT_EQ(*read_file(file), text);
  }
}

TEST_F(JournalTest, WhatIsAppendedIsWhatWillBeRead) {
  Json odd = {{"event", "note"},
              {"text",
               "a\xff"
               "b\n"},
              {"x", 0.1},
              {"big", 1e300}};
  auto journal = Journal::open(file);
  ASSERT_TRUE(journal);
  ASSERT_TRUE(journal->append(odd));
  EXPECT_EQ(journal->events().back()["text"],
            "a\xEF\xBF\xBD"
            "b\n");
  EXPECT_EQ(journal->events(), *read_journal(file));
}

// A disk that is full (here: a limit on the file's size) leaves the journal whole.
TEST_F(JournalTest, AWriteThatDoesNotFitIsTakenBack) {
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    auto journal = Journal::open(file);
    if (!journal || !journal->append(event(1))) ::_exit(2);
    rlimit limit{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    if (journal->append({{"event", "note"}, {"text", std::string(200, 'y')}})) ::_exit(3);
    if (journal->events().size() != 1) ::_exit(4);
    ::_exit(journal->append(event(2)) ? 0 : 5);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  auto events = read_journal(file);
  ASSERT_TRUE(events) << events.error().text();
  EXPECT_EQ(*events, (std::vector<Json>{event(1), event(2)}));
}

// Each child counts on from what it finds and is killed at a random moment; nothing that it had
// reported as written may be missing.
TEST_F(JournalTest, KilledWritersLoseAtMostTheEventInFlight) {
  Rng rng(7);
  std::size_t least = 0;
  for (int round = 0; round < 60; ++round) {
    int pipe_fd[2];
    ASSERT_EQ(::pipe(pipe_fd), 0);
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto journal = Journal::open(file);
      if (!journal) ::_exit(2);
      for (auto i = static_cast<int>(journal->events().size());; ++i) {
        if (!journal->append(event(i))) ::_exit(3);
        if (::write(pipe_fd[1], "+", 1) != 1) ::_exit(4);
      }
    }
    ::close(pipe_fd[1]);
    char buffer[4096];
    std::size_t reported = 0;
    if (::read(pipe_fd[0], buffer, 1) == 1) reported = 1;  // it has begun, however slow the disk
    std::this_thread::sleep_for(std::chrono::microseconds(rng.below(6000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    for (ssize_t n = 0; (n = ::read(pipe_fd[0], buffer, sizeof buffer)) > 0;)
      reported += static_cast<std::size_t>(n);
    ::close(pipe_fd[0]);
    auto journal = Journal::open(file);
    ASSERT_TRUE(journal) << journal.error().text();
    ASSERT_GE(journal->events().size(), least + reported);
    ASSERT_LE(journal->events().size(), least + reported + 1);
    least = journal->events().size();
    for (std::size_t i = 0; i < least; ++i)
      ASSERT_EQ(journal->events()[i], event(static_cast<int>(i)));
  }
  EXPECT_GE(least, 60U);
}

}  // namespace
}  // namespace kp
