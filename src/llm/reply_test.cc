#include "llm/reply.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "llm/fences.h"

namespace kp {
namespace {

#define EXPECT_SAYS(text, part) EXPECT_TRUE(contains(text, part)) << text

const std::string kPlan =
    R"({"steps": [{"kernel": "k", "grid": [1], "block": [32], "args": ["x", "y"]}]})";

std::string kernel(const std::string& mark) {
  return "extern \"C\" __global__ void k(const float* x, float* y) { /* " + mark + " */ }\n";
}

std::string file(const std::string& mark) {
  return "/* plan\n" + kPlan + "\n*/\n" + kernel(mark);
}

std::string fenced(const std::string& text, const std::string& language = "cuda") {
  return "```" + language + "\n" + text + "```\n";
}

std::string source_of(const std::string& reply) {
  auto read = read_reply(reply);
  return read ? read->source : "error: " + read.error().text();
}

TEST(Reply, OneFenceWithThePlanInside) {
  auto read = read_reply("IDEA: load 128 bits a thread\n\n" + fenced(file("A")) + "Done.\n");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->source, file("A"));  // as written, so that lines keep their numbers
  EXPECT_EQ(read->idea, "load 128 bits a thread");
}

TEST(Reply, LanguagesFencesAndLineEnds) {
  for (const char* language : {"cuda", "cu", "cpp", "c++", "C++", "CUDA title=k.cu", ""})
    EXPECT_EQ(source_of(fenced(file("A"), language)), file("A")) << language;
  EXPECT_EQ(source_of("~~~cuda\n" + file("A") + "~~~"), file("A"));
  EXPECT_EQ(source_of("````cuda\n" + file("A") + "// ```\n````"), file("A") + "// ```\n");
  EXPECT_EQ(source_of(replace_all("text\n" + fenced(file("A")), "\n", "\r\n")), file("A"));
  EXPECT_EQ(source_of("1. Here:\n   " + replace_all(fenced(file("A")), "\n", "\n   ")), file("A"));
  EXPECT_EQ(source_of("```markdown\nIDEA: x\n" + fenced(file("A")) + "```\n"), file("A"));
}

TEST(Reply, PlanInItsOwnFence) {
  std::string joined = join_candidate(kernel("A"), kPlan);
  EXPECT_EQ(source_of(fenced(kernel("A")) + fenced(kPlan + "\n", "json")), joined);
  EXPECT_EQ(source_of(fenced(kPlan + "\n", "json") + fenced(kernel("A"))), joined);
  EXPECT_EQ(source_of(fenced("/* plan\n" + kPlan + "\n*/\n") + fenced(kernel("A"))), joined);
  // Other JSON is no plan.
  EXPECT_EQ(source_of(fenced(kernel("A")) + fenced(kPlan + "\n", "json") +
                      fenced("{\"speedup\": 2}\n", "json")),
            joined);
}

TEST(Reply, LastCompletePairWins) {
  EXPECT_EQ(source_of(fenced(file("draft")) + "Better:\n" + fenced(file("final"))), file("final"));
  // An excerpt after it has no plan and is prose; so is a piece without a kernel.
  EXPECT_EQ(source_of(fenced(file("final")) + "The key part:\n" + fenced(kernel("part"))),
            file("final"));
  EXPECT_EQ(source_of(fenced(file("final")) + fenced("float4 v = load(x);\n")), file("final"));
  std::string two = fenced(kernel("draft")) + fenced(kPlan + "\n", "json") +
                    fenced(kernel("final")) + fenced(kPlan + "\n", "json");
  EXPECT_SAYS(source_of(two), "final");
  EXPECT_FALSE(contains(source_of(two), "draft"));
}

TEST(Reply, ThoughtsAreNeverRead) {
  std::string thought = "<think>\nIDEA: wrong\n" + fenced(file("draft")) + "hm ```\n</think>\n";
  auto read = read_reply(thought + "IDEA: right\n" + fenced(file("final")));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->source, file("final"));
  EXPECT_EQ(read->idea, "right");
  EXPECT_EQ(source_of(fenced(file("draft")) + "</think>\n" + fenced(file("final"))), file("final"));
  EXPECT_SAYS(source_of(thought + "I cannot do that."), "no fenced code");
  EXPECT_SAYS(source_of("<think>\n" + fenced(file("draft"))), "never closed");
}

TEST(Reply, ACutReplyIsAnErrorEvenAfterADraft) {
  EXPECT_SAYS(source_of("```cuda\n" + file("half")), "was cut: the fence at line 1");
  EXPECT_SAYS(source_of(fenced(file("draft")) + "\n```cuda\n" + file("half")), "was cut");
  EXPECT_SAYS(source_of(fenced(file("draft")) + "\n```cuda"), "draft");  // nothing was begun
}

// A fence that the model forgot to close is no code; the next one counts.
TEST(Reply, ForgottenEndOfADraft) {
  EXPECT_EQ(source_of("```cuda\n" + file("draft") + "\nBetter:\n" + fenced(file("final"))),
            file("final"));
}

TEST(Reply, CommentsAndCommasInThePlan) {
  std::string plan =
      "{ // the plan\n  \"steps\": [\n    {\"kernel\": \"k\", /* one */ \"grid\": [\"a // b\", "
      "\",]\",],\n     \"block\": [32], \"args\": [\"x\", \"y\"],},\n  ],\n}";
  std::string json = plain_json(plan);
  EXPECT_EQ(json.size(), plan.size());
  Json parsed = parse_json(json, "plan").value();
  EXPECT_EQ(parsed["steps"][0]["grid"][0], "a // b");
  EXPECT_EQ(parsed["steps"][0]["grid"][1], ",]");
  // In the comment of a file: // comments and commas go, lines stay.
  std::string text = "// head\n/* plan:\n{\n  \"steps\": [  // all\n  ],\n}\n*/\n" + kernel("A");
  std::string source = source_of(fenced(text));
  EXPECT_EQ(lines_of(source).size(), lines_of(text).size());
  EXPECT_EQ(lines_of(source).back(), lines_of(text).back());
  auto candidate_plan = source.substr(source.find('{'), source.find("*/") - source.find('{'));
  EXPECT_TRUE(parse_json(candidate_plan, "plan")) << source;
  EXPECT_SAYS(source_of(fenced(kernel("A")) + fenced(plan + "\n", "json")), "a // b");
}

TEST(Reply, ErrorsSayWhatIsMissing) {
  EXPECT_SAYS(source_of(""), "is empty");
  EXPECT_SAYS(source_of(" \n\t"), "is empty");
  EXPECT_SAYS(source_of("I would vectorize it."), "no fenced code");
  EXPECT_SAYS(source_of("\n" + fenced(kernel("A"))),
              "the code at line 2 of the reply has no launch plan");
  EXPECT_SAYS(source_of(fenced(kPlan + "\n", "json")), "no code with a __global__");
  EXPECT_SAYS(source_of(fenced("import torch\n__global__\n", "python")), "\"python\", at line 1");
  EXPECT_SAYS(source_of(fenced("/* plan\n{\"steps\": [\n*/\n" + kernel("A"))), "not valid JSON");
  EXPECT_SAYS(source_of(fenced("/* plan\n{\"stages\": []}\n*/\n" + kernel("A"))), "no \"steps\"");
  EXPECT_SAYS(source_of(fenced("__global__ void k() {}\n/* plan\n{\"steps\": []}\n")),
              "not closed by */");
  // A plan that is broken in the last pair does not bring the draft back.
  EXPECT_SAYS(source_of(fenced(file("draft")) + fenced("/* plan\n{oops}\n*/\n" + kernel("B"))),
              "not valid JSON");
  EXPECT_SAYS(source_of(std::string("\0\xff\xfe```", 6)), "no fenced code");
}

TEST(Reply, IdeaInManyClothes) {
  auto idea = [](const std::string& prose) {
    return read_reply(prose + "\n" + fenced(file("A"))).value().idea;
  };
  EXPECT_EQ(idea("**IDEA:** tile it"), "tile it");
  EXPECT_EQ(idea("# Plan\n\n- Idea: tile it"), "tile it");
  EXPECT_EQ(idea("I tile it. Then I fuse."), "I tile it.");
  EXPECT_EQ(idea(""), "");
  EXPECT_EQ(idea("IDEA: first\nbetter:\nIDEA: second"), "second");
  std::string longest = idea("IDEA: " + std::string(299, 'a') + "\xC3\xBC tail");
  EXPECT_EQ(longest, std::string(299, 'a') + "...");  // never half a character
}

}  // namespace
}  // namespace kp
