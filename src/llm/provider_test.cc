// Command, mailbox, replay, and the choice between the providers.
#include "llm/provider.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"

namespace kp {
namespace {

#define EXPECT_SAYS(text, part) EXPECT_TRUE(contains(text, part)) << text

Call call_of(const std::string& id, const std::string& user = "the user part") {
  Call call;
  call.id = id;
  call.prompt.system = "the system part with {{braces}} & <tags>";
  call.prompt.user = user;
  return call;
}

std::string error_of(const ProviderOptions& options, const std::string& id = "0001") {
  auto provider = make_provider(options);
  if (!provider) return provider.error().text();
  auto reply = (*provider)->ask(call_of(id));
  if (!reply) return reply.error().text();
  return *reply ? "reply: " + (*reply)->text : "not there yet";
}

TEST(Provider, UnknownKindsAndMissingOptions) {
  ProviderOptions o;
  EXPECT_SAYS(error_of(o), "no provider of proposals is named");
  o.kind = "opnai";
  EXPECT_SAYS(error_of(o), "is openai meant?");
  for (const char* kind : {"openai", "command", "mailbox", "replay"}) {
    o.kind = kind;
    EXPECT_SAYS(error_of(o), std::string("provider ") + kind + ": no ");
  }
  o.timeout_s = 0;
  EXPECT_SAYS(error_of(o), "time limit");
}

class CommandProvider : public testing::Test {
 protected:
  static std::string run(const std::string& command, double timeout_s = 20) {
    ProviderOptions o;
    o.kind = "command";
    o.command = command;
    o.timeout_s = timeout_s;
    return error_of(o);
  }
};

TEST_F(CommandProvider, PromptInReplyOut) {
  EXPECT_EQ(run("cat"), "reply: the system part with {{braces}} & <tags>\n\nthe user part");
  EXPECT_EQ(run("printf %s \"$KERNELPRO_CALL\""), "reply: 0001");
  EXPECT_EQ(run("echo fine; echo noise >&2"), "reply: fine\n");
}

TEST_F(CommandProvider, FailuresAreErrors) {
  std::string failed = run("echo half; echo first >&2; echo 'no credit' >&2; exit 3");
  EXPECT_SAYS(failed, "exit code 3");
  EXPECT_SAYS(failed, "no credit");
  EXPECT_SAYS(run("kill -9 $$"), "signal 9");
  EXPECT_SAYS(run("true"), "printed nothing");
  EXPECT_SAYS(run("no-such-program-xyz"), "exit code 127");
  Stopwatch watch;
  EXPECT_SAYS(run("echo half; sleep 60", 0.3), "no whole reply within 0.3 s");
  EXPECT_LT(watch.seconds(), 10);
}

class MailboxProvider : public testing::Test {
 protected:
  MailboxProvider() { options_.folder = (folder_.path() / "box").string(); }

  fs::path file(const std::string& name) { return fs::path(options_.folder) / name; }
  std::string ask(const std::string& id = "0001") { return error_of(options_, id); }

  TempFolder folder_ = TempFolder::make("kp-mailbox").value();
  ProviderOptions options_ = [] {
    ProviderOptions o;
    o.kind = "mailbox";
    o.wait = false;
    o.timeout_s = 10;
    return o;
  }();
};

TEST_F(MailboxProvider, WithoutWaitingNothingIsLost) {
  EXPECT_EQ(ask(), "not there yet");
  std::string prompt = read_file(file("0001.prompt.md")).value();
  EXPECT_SAYS(prompt, "0001.reply.md");
  EXPECT_SAYS(prompt, "the system part with {{braces}} & <tags>");
  EXPECT_LT(prompt.find("system part"), prompt.find("USER MESSAGE"));
  EXPECT_LT(prompt.find("USER MESSAGE"), prompt.find("user part"));
  EXPECT_EQ(ask(), "not there yet");  // asking again changes nothing
  ASSERT_TRUE(write_file(file("0001.reply.md"), "here"));
  EXPECT_EQ(ask(), "reply: here");
  EXPECT_EQ(ask(), "reply: here");
  EXPECT_EQ(ask("0002"), "not there yet");
}

TEST_F(MailboxProvider, EmptyReplyIsAnError) {
  ASSERT_TRUE(write_file(file("0001.reply.md"), " \n"));
  EXPECT_SAYS(ask(), "0001.reply.md: is empty");
  ASSERT_TRUE(write_file(file("0001.reply.md"), ""));
  EXPECT_SAYS(ask(), "0001.reply.md: is empty");
}

TEST_F(MailboxProvider, ReplyToAnotherPromptIsRefused) {
  auto provider = make_provider(options_).value();
  ASSERT_TRUE(provider->ask(call_of("0001", "another task")));
  ASSERT_TRUE(write_file(file("0001.reply.md"), "an answer to that"));
  EXPECT_SAYS(ask(), "answers another prompt");
  fs::remove(file("0001.prompt.md"));
  EXPECT_EQ(ask(), "reply: an answer to that");
}

TEST_F(MailboxProvider, PicksUpAReplyThatGrows) {
  options_.wait = true;
  std::thread writer([&] {
    while (!fs::exists(file("0001.prompt.md")))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    FILE* out = std::fopen(file("0001.reply.md").c_str(), "w");
    ASSERT_NE(out, nullptr);
    for (int i = 0; i < 10; ++i) {  // the file is there, empty and then partial, for half a second
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      std::fprintf(out, "line %d\n", i);
      std::fflush(out);
    }
    std::fclose(out);
  });
  std::string text = ask();
  writer.join();
  EXPECT_SAYS(text, "line 0\n");
  EXPECT_SAYS(text, "line 9\n");
}

TEST_F(MailboxProvider, WaitingEnds) {
  options_.wait = true;
  options_.timeout_s = 0.3;
  EXPECT_SAYS(ask(), "0001.reply.md: is not there after 0.3 s");
}

TEST_F(MailboxProvider, AFolderThatCannotBe) {
  ASSERT_TRUE(write_file(folder_.path() / "file", "x"));
  options_.folder = (folder_.path() / "file" / "box").string();
  EXPECT_SAYS(ask(), "cannot make this folder");
}

class ReplayProvider : public testing::Test {
 protected:
  std::string ask(const std::string& journal, const std::string& id) {
    EXPECT_TRUE(write_file(folder_.path() / "journal.jsonl", journal));
    ProviderOptions o;
    o.kind = "replay";
    o.folder = folder_.path().string();
    return error_of(o, id);
  }
  TempFolder folder_ = TempFolder::make("kp-replay").value();
};

constexpr const char* kJournal =
    "{\"kernelpro_journal\": 1}\n"
    "{\"event\":\"proposal\",\"call\":\"0001\",\"reply\":{\"text\":\"one\",\"model\":\"m\"}}\n"
    "{\"event\":\"verdict\",\"call\":\"0001\",\"outcome\":\"correct\"}\n"
    "{\"event\":\"proposal\",\"call\":\"0002\",\"error\":\"unreachable\"}\n"
    "{\"event\":\"proposal\",\"call\":\"0003\",\"reply\":{\"text\":\"three\"}}\n";

TEST_F(ReplayProvider, AnswersByCall) {
  EXPECT_EQ(ask(kJournal, "0001"), "reply: one");
  EXPECT_EQ(ask(kJournal, "0003"), "reply: three");
}

TEST_F(ReplayProvider, AMissingReplyNamesTheCall) {
  std::string text = ask(kJournal, "0002");
  EXPECT_SAYS(text, "no reply to call 0002");
  EXPECT_SAYS(text, "the last is 0003");
  EXPECT_SAYS(ask("", "0001"), "it has 0");
}

TEST_F(ReplayProvider, TornLastLineAndBrokenLines) {
  EXPECT_EQ(ask(kJournal + std::string("{\"event\":\"prop"), "0001"), "reply: one");
  EXPECT_SAYS(ask("{\"kernelpro_journal\": 1}\n{oops\n{}\n", "0001"), "journal.jsonl:2");
  ProviderOptions o;
  o.kind = "replay";
  o.folder = (folder_.path() / "none").string();
  EXPECT_SAYS(error_of(o), "no such file");
}

}  // namespace
}  // namespace kp
