#include "llm/sse.h"

#include <gtest/gtest.h>

namespace kp {
namespace {

std::vector<SseEvent> parse(std::string_view text, std::size_t piece) {
  SseParser parser;
  std::vector<SseEvent> all;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    for (auto& event : parser.feed(text.substr(at, piece))) all.push_back(std::move(event));
  }
  if (auto last = parser.finish()) all.push_back(std::move(*last));
  return all;
}

// The same events come out whatever the line ends are and wherever the bytes are cut.
TEST(Sse, EveryLineEndAndEveryCut) {
  for (const std::string nl : {"\n", "\r", "\r\n"}) {
    std::string text = "\xEF\xBB\xBF: keep-alive" + nl + "event: delta" + nl + "data: gr\xC3\xBC" +
                       nl + "data:  two" + nl + "id: 7" + nl + nl + ": again" + nl + nl + "data" +
                       nl + nl + "data:[DONE]" + nl + nl;
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
      auto events = parse(text, piece);
      ASSERT_EQ(events.size(), 3U) << "pieces of " << piece;
      EXPECT_EQ(events[0].type, "delta");
      EXPECT_EQ(events[0].data, "gr\xC3\xBC\n two");
      EXPECT_EQ(events[1].data, "");
      EXPECT_EQ(events[1].type, "");
      EXPECT_EQ(events[2].data, "[DONE]");
    }
  }
}

TEST(Sse, EndOfStreamKeepsWholeLinesOnly) {
  EXPECT_EQ(parse("data: [DONE]\n", 5).at(0).data, "[DONE]");
  EXPECT_TRUE(parse("data: {\"a\": 1", 5).empty());
  auto torn = parse("data: one\ndata: tw", 4);
  ASSERT_EQ(torn.size(), 1U);
  EXPECT_EQ(torn[0].data, "one");
}

TEST(Sse, CommentsAloneAreNoEvent) {
  EXPECT_TRUE(parse(": a\n\n:b\n\nretry: 10\n\nevent: x\n\n", 3).empty());
}

}  // namespace
}  // namespace kp
