#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "llm/provider.h"
#include "llm/scripted_server.h"

namespace kp {
namespace {

constexpr const char* kKey = "sk-secret-0123456789";

std::string head(int status, std::string_view type, std::string_view more = "") {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: " + std::string(type) +
         "\r\n" + std::string(more);
}

std::string with_length(int status, std::string_view type, std::string_view body,
                        std::string_view more = "") {
  return head(status, type, more) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

std::string delta(std::string_view text, std::string_view finish = "") {
  Json choice = {{"index", 0}, {"delta", {{"content", text}}}, {"finish_reason", nullptr}};
  if (!finish.empty()) choice["finish_reason"] = finish;
  Json chunk = {{"model", "m-1"}, {"choices", Json::array({choice})}};
  return "data: " + dump_json(chunk) + "\n\n";
}

// "grüße, kernel" in two deltas, an empty last one, the usage, [DONE].
std::string good_stream() {
  return ": hello\n\n" + delta("gr\xC3\xBC\xC3\x9F") + ": keep-alive\n\n" + delta("e, kernel") +
         delta("", "stop") +
         "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7}}\n\n" +
         "data: [DONE]\n\n";
}
constexpr const char* kGoodText =
    "gr\xC3\xBC\xC3\x9F"
    "e, kernel";

ServerStep stream_of(std::string text, std::size_t piece = 100000) {
  return [=](Connection& c, const std::string&) {
    c.send(head(200, "text/event-stream", "Transfer-Encoding: chunked\r\n\r\n"));
    for (std::size_t at = 0; at < text.size(); at += piece)
      c.chunk(std::string_view(text).substr(at, piece));
    c.chunk("");
  };
}

ServerStep answer(int status, std::string body, std::string more = "",
                  std::string type = "application/json") {
  return [=](Connection& c, const std::string&) { c.send(with_length(status, type, body, more)); };
}

class OpenAi : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("KP_TEST_KEY", kKey, 1);
    for (const char* name : {"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"})
      ::unsetenv(name);
  }

  static ProviderOptions options(int port) {
    ProviderOptions o;
    o.kind = "openai";
    o.model = "m";
    o.base_url = "http://127.0.0.1:" + std::to_string(port) + "/v1/";
    o.api_key_env = "KP_TEST_KEY";
    o.timeout_s = 20;
    return o;
  }

  static Result<std::optional<Reply>> ask_with(const ProviderOptions& o) {
    auto provider = make_provider(o);
    if (!provider) return tl::make_unexpected(provider.error());
    Call call;
    call.id = "0007";
    call.prompt.system = "be brief";
    call.prompt.user = "write a kernel";
    call.prompt.temperature = 0.25;
    return (*provider)->ask(call);
  }

  // What the scripted server's answers come to: the text, or "error: ..." with the hint.
  static std::string outcome(std::vector<ServerStep> script, double timeout_s = 20) {
    ScriptedServer server(std::move(script));
    ProviderOptions o = options(server.port());
    o.timeout_s = timeout_s;
    auto reply = ask_with(o);
    if (!reply) {
      EXPECT_FALSE(contains(reply.error().text(), kKey)) << "the key leaks";
      EXPECT_TRUE(contains(reply.error().text(), "call 0007")) << reply.error().text();
      return "error: " + reply.error().text();
    }
    return (*reply)->text;
  }
};

#define EXPECT_SAYS(text, part) EXPECT_TRUE(contains(text, part)) << text

TEST_F(OpenAi, StreamWithUsageAndRequest) {
  ScriptedServer server({stream_of(good_stream())});
  auto reply = ask_with(options(server.port()));
  ASSERT_TRUE(reply) << reply.error().text();
  EXPECT_EQ((*reply)->text, kGoodText);
  EXPECT_EQ((*reply)->model, "m-1");
  EXPECT_EQ((*reply)->tokens_in, 11);
  EXPECT_EQ((*reply)->tokens_out, 7);
  EXPECT_GT((*reply)->seconds, 0);
  std::string request = server.requests().at(0);
  EXPECT_TRUE(starts_with(request, "POST /v1/chat/completions HTTP/1.1\r\n")) << request;
  EXPECT_SAYS(request, "Authorization: Bearer " + std::string(kKey));
  Json body = parse_json(request.substr(request.find("\r\n\r\n")), "request").value();
  EXPECT_EQ(body["model"], "m");
  EXPECT_EQ(body["messages"][0]["role"], "system");
  EXPECT_EQ(body["messages"][0]["content"], "be brief");
  EXPECT_EQ(body["messages"][1]["content"], "write a kernel");
  EXPECT_EQ(body["temperature"], 0.25);
  EXPECT_EQ(body["max_tokens"], 16000);
  EXPECT_EQ(body["stream"], true);
  EXPECT_EQ(body["stream_options"]["include_usage"], true);
}

// Pieces of 1 to 7 bytes cut inside UTF-8 characters, JSON and line ends.
TEST_F(OpenAi, PiecesOfAnySize) {
  for (std::size_t piece : {1, 2, 3, 7})
    EXPECT_EQ(outcome({stream_of(good_stream(), piece)}), kGoodText);
}

TEST_F(OpenAi, ByteByByteOnTheWire) {
  ServerStep slow = [](Connection& c, const std::string&) {
    std::string all = head(200, "text/event-stream", "\r\n") + good_stream();
    for (char byte : all) c.send(std::string_view(&byte, 1));
  };
  EXPECT_EQ(outcome({slow}), kGoodText);
}

TEST_F(OpenAi, CarriageReturnsAndNoLastBlankLine) {
  std::string crlf = replace_all(good_stream(), "\n", "\r\n");
  EXPECT_EQ(outcome({stream_of(crlf, 5)}), kGoodText);
  std::string torn = good_stream();
  torn.pop_back();
  EXPECT_EQ(outcome({stream_of(torn)}), kGoodText);
}

TEST_F(OpenAi, EndsAtDoneThoughTheConnectionStays) {
  Stopwatch watch;
  ServerStep stay = [](Connection& c, const std::string&) {
    c.send(head(200, "text/event-stream", "Transfer-Encoding: chunked\r\n\r\n"));
    c.chunk(good_stream());
    c.hang();
  };
  EXPECT_EQ(outcome({stay}), kGoodText);
  EXPECT_LT(watch.seconds(), 5);
}

TEST_F(OpenAi, WholeJsonInsteadOfAStream) {
  std::string body =
      R"({"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"whole"},)"
      R"("finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}})";
  EXPECT_EQ(outcome({answer(200, body)}), "whole");
  std::string parts =
      R"({"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]})";
  EXPECT_EQ(outcome({answer(200, parts)}), "ab");
}

TEST_F(OpenAi, ReasoningIsNoReply) {
  std::string thought =
      "data: {\"choices\":[{\"delta\":{\"content\":null,\"reasoning_content\":\"hm\"}}]}\n\n";
  EXPECT_EQ(outcome({stream_of(thought + good_stream())}), kGoodText);
  std::string text = outcome({stream_of(thought + delta("", "stop") + "data: [DONE]\n\n")});
  EXPECT_SAYS(text, "only reasoned");
  EXPECT_SAYS(outcome({stream_of(thought + delta("", "length"))}), "reasoning counts");
}

TEST_F(OpenAi, PartialRepliesAreNeverTaken) {
  std::string cut = delta("half of a ker");
  EXPECT_SAYS(outcome({stream_of(cut)}), "ended in the middle of the reply, after 13 characters");
  EXPECT_SAYS(outcome({stream_of(cut + delta("nel", "length") + "data: [DONE]\n\n")}),
              "cut at the limit of output tokens");
  EXPECT_SAYS(outcome({stream_of(cut + delta("", "content_filter"))}), "content filter");
  ServerStep gone = [=](Connection& c, const std::string&) {  // no end of the chunked body
    c.send(head(200, "text/event-stream", "Transfer-Encoding: chunked\r\n\r\n"));
    c.chunk(cut);
  };
  EXPECT_SAYS(outcome({gone}), "broke off");
  ServerStep torn = [=](Connection& c, const std::string&) {
    c.send(head(200, "application/json", "Content-Length: 1000\r\n\r\n") + R"({"choices":[{"mess)");
  };
  EXPECT_SAYS(outcome({torn}), "broke off");
}

TEST_F(OpenAi, ErrorInsideTheStream) {
  std::string text = outcome(
      {stream_of(delta("half") + "data: {\"error\":{\"message\":\"engine overloaded\"}}\n\n")});
  EXPECT_SAYS(text, "engine overloaded");
  EXPECT_SAYS(outcome({stream_of("data: oops\n\n")}), "not JSON: oops");
}

TEST_F(OpenAi, EmptyContent) {
  EXPECT_SAYS(outcome({answer(200, R"({"choices":[{"message":{"content":null}}]})")}), "is empty");
  EXPECT_SAYS(
      outcome({answer(200, R"({"choices":[{"message":{"content":null,"refusal":"no"}}]})")}),
      "the model refused: no");
  EXPECT_SAYS(outcome({answer(200, R"({"object":"list"})")}), "no \"choices\"");
  EXPECT_SAYS(outcome({answer(200, R"({"choices":[]})")}), "is empty");
  EXPECT_SAYS(outcome({answer(200, "")}), "empty body");
  // Members of types that nobody promised are not a crash.
  EXPECT_SAYS(outcome({answer(200, R"({"choices":[1,{"message":[]},null],"usage":[]})")}),
              "is empty");
}

TEST_F(OpenAi, WebPageInsteadOfAnAnswer) {
  std::string page = "<!DOCTYPE html><html><head><title>Log in</title></head></html>";
  EXPECT_SAYS(outcome({answer(200, page, "", "text/html")}), "a web page titled \"Log in\"");
  EXPECT_SAYS(outcome({answer(404, page, "", "text/html")}), "HTTP 404: a web page");
}

TEST_F(OpenAi, WaitsAndAsksAgain) {
  for (int status : {429, 503, 529}) {
    std::vector<ServerStep> script = {answer(status, "{}", "Retry-After: 0\r\n"),
                                      stream_of(good_stream())};
    EXPECT_EQ(outcome(script), kGoodText);
  }
}

TEST_F(OpenAi, WaitsAreBounded) {
  Stopwatch watch;
  ServerStep busy = answer(429, R"({"error":{"message":"slow down"}})", "Retry-After: 3600\r\n");
  std::string text = outcome({busy});
  EXPECT_SAYS(text, "slow down");
  EXPECT_SAYS(text, "3600 s");
  EXPECT_LT(watch.seconds(), 5);
  // Always "at once": ends after a fixed number of tries.
  ScriptedServer server({answer(503, "{}", "Retry-After: 0\r\n")});
  EXPECT_FALSE(ask_with(options(server.port())));
  EXPECT_EQ(server.requests().size(), 7U);
  // Out of money is not a matter of waiting.
  ServerStep poor = answer(429, R"({"error":{"code":"insufficient_quota","message":"pay"}})");
  EXPECT_SAYS(outcome({poor, stream_of(good_stream())}), "HTTP 429: pay");
}

TEST_F(OpenAi, AdaptsTheParametersOnce) {
  auto no = [](const char* why) {
    return answer(400, R"({"error":{"message":")" + std::string(why) + "\"}}");
  };
  ScriptedServer server({no("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'."),
                         no("Unsupported value: 'temperature' must be 1"),
                         no("stream_options is not known"), stream_of(good_stream())});
  auto provider = make_provider(options(server.port())).value();
  Call call;
  call.id = "1";
  auto reply = provider->ask(call);
  ASSERT_TRUE(reply) << reply.error().text();
  ASSERT_TRUE(provider->ask(call));  // what was learnt stays
  auto requests = server.requests();
  ASSERT_EQ(requests.size(), 5U);
  for (std::size_t i : {3, 4}) {
    EXPECT_SAYS(requests[i], "\"max_completion_tokens\":16000");
    EXPECT_FALSE(contains(requests[i], "\"max_tokens\""));
    EXPECT_FALSE(contains(requests[i], "temperature"));
    EXPECT_FALSE(contains(requests[i], "stream_options"));
  }
  // A server that never has enough is asked a bounded number of times.
  ScriptedServer never({no("max_tokens max_completion_tokens temperature stream_options")});
  auto error = ask_with(options(never.port()));
  ASSERT_FALSE(error);
  EXPECT_SAYS(error.error().text(), "HTTP 400");
  EXPECT_LE(never.requests().size(), 6U);
}

TEST_F(OpenAi, RefusalsSayWhatToDo) {
  std::string body = R"({"error":{"message":"bad key )" + std::string(kKey) + "\"}}";
  EXPECT_SAYS(outcome({answer(401, body)}), "check the API key in KP_TEST_KEY");
  EXPECT_SAYS(outcome({answer(401, body)}), "bad key ***");
  EXPECT_SAYS(outcome({answer(404, R"({"detail":"no model m"})")}), "no model m");
  EXPECT_SAYS(outcome({answer(301, "", "Location: https://x/\r\n")}), "redirects are not followed");
  EXPECT_SAYS(outcome({answer(400, R"({"message":"context length exceeded"})")}), "token budget");
}

TEST_F(OpenAi, AServerThatIsNone) {
  Stopwatch watch;
  ServerStep hang = [](Connection& c, const std::string&) { c.hang(); };
  EXPECT_SAYS(outcome({hang}, 0.5), "within 0.5 s");
  ServerStep stall = [](Connection& c, const std::string&) {
    c.send(head(200, "text/event-stream", "\r\n") + delta("half"));
    c.hang();
  };
  EXPECT_SAYS(outcome({stall}, 0.5), "broke off");
  EXPECT_SAYS(outcome({[](Connection&, const std::string&) {}}), "without an answer");
  ServerStep other = [](Connection& c, const std::string&) { c.send("SSH-2.0-OpenSSH_9\r\n\r\n"); };
  EXPECT_SAYS(outcome({other}), "not HTTP");
  int port = 0;
  { port = ScriptedServer({hang}).port(); }
  auto nobody = ask_with(options(port));
  ASSERT_FALSE(nobody);
  EXPECT_SAYS(nobody.error().text(), "cannot connect to http://127.0.0.1:");
  EXPECT_SAYS(nobody.error().text(), "refused");
  ProviderOptions o = options(1);
  o.base_url = "http://no-such-host.invalid/v1";
  o.timeout_s = 5;
  auto lost = ask_with(o);
  ASSERT_FALSE(lost);
  EXPECT_SAYS(lost.error().text(), "no-such-host.invalid");
  EXPECT_LT(watch.seconds(), 15);
}

TEST_F(OpenAi, OptionsThatCannotWork) {
  auto why = [](const ProviderOptions& o) {
    auto made = make_provider(o);
    return made ? std::string("made") : made.error().text();
  };
  ProviderOptions o = options(1);
  o.model = "";
  EXPECT_SAYS(why(o), "no model");
  o = options(1);
  o.api_key_env = "KP_TEST_NO_SUCH_KEY";
  EXPECT_SAYS(why(o), "KP_TEST_NO_SUCH_KEY is not set");
  ::setenv("KP_TEST_BAD_KEY", "a b\r\nX-Evil: 1", 1);
  o.api_key_env = "KP_TEST_BAD_KEY";
  EXPECT_SAYS(why(o), "holds spaces");
  for (const char* url : {"localhost:8000/v1", "ftp://x/v1", "http://", "http://h:99999/v1",
                          "http://[::1/v1", "http://a b/v1"}) {
    o = options(1);
    o.base_url = url;
    EXPECT_SAYS(why(o), "base URL") << url;
  }
  o.base_url = "http://me:pw@host/v1";
  EXPECT_SAYS(why(o), "name or password");
  EXPECT_FALSE(contains(why(o), "pw"));
  ::unsetenv("OPENAI_API_KEY");
  o = options(1);
  o.api_key_env = "OPENAI_API_KEY";
  EXPECT_EQ(why(o), "made");  // a server of one's own may ask for no key
  o.base_url = "";
  EXPECT_SAYS(why(o), "OPENAI_API_KEY is not set");
}

}  // namespace
}  // namespace kp
