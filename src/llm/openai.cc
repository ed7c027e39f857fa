// A chat-completions server as the model (POST BASE/chat/completions, streamed).
//
// Servers differ: a parameter that one refuses with 400 or 422 is renamed or dropped once, and
// stays so for later calls. 429 and 5xx are asked again after the wait that the server names, else
// 1, 2, 4, ... s; all waits count towards the call's time limit.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "llm/http.h"
#include "llm/openai_answer.h"
#include "llm/providers.h"

namespace kp {
namespace {

constexpr const char* kDefaultUrl = "https://api.openai.com/v1";
constexpr int kMaxRetries = 6;
constexpr double kIdle_s = 300;  // reasoning models may be silent for minutes

bool worth_a_retry(const HttpResponse& response) {
  int s = response.status;
  if (s == 429) return !contains(response.body, "insufficient_quota");
  return s == 408 || s == 500 || s == 502 || s == 503 || s == 504 || s == 529;
}

// Seconds, or a date (RFC 9110, section 10.2.3).
double wait_of(const HttpResponse& response, int retry) {
  auto it = response.headers.find("retry-after");
  if (it != response.headers.end()) {
    char* end = nullptr;
    double seconds = std::strtod(it->second.c_str(), &end);
    if (end != it->second.c_str() && *end == '\0' && seconds >= 0) return std::max(seconds, 0.1);
    std::tm date{};
    if (::strptime(it->second.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date) != nullptr)
      return std::max(0.1, std::difftime(::timegm(&date), std::time(nullptr)));
  }
  return std::ldexp(1.0, retry);
}

class OpenAi final : public Provider {
 public:
  OpenAi(const ProviderOptions& options, Url url, std::string key)
      : options_(options), url_(std::move(url)), key_(std::move(key)) {}

  std::string name() const override { return "openai:" + options_.model; }

  Result<std::optional<Reply>> ask(const Call& call) override {
    auto reply = talk(call);
    if (reply) return std::optional<Reply>(std::move(*reply));
    Error error = std::move(reply).error();
    error.message = fmt::format("call {}: {}", call.id, hide_key(error.message));
    error.hint = hide_key(error.hint);
    return tl::make_unexpected(std::move(error));
  }

 private:
  struct Dialect {  // what this server was found to accept
    std::string length_key = "max_tokens";
    bool temperature = true;
    bool usage = true;
    bool stream = true;
  };

  std::string hide_key(std::string text) const {
    return key_.empty() ? text : replace_all(std::move(text), key_, "***");
  }

  std::string body_of(const Prompt& prompt) const {
    Json body = {{"model", options_.model},
                 {"messages", Json::array({{{"role", "system"}, {"content", prompt.system}},
                                           {{"role", "user"}, {"content", prompt.user}}})}};
    if (dialect_.temperature) body["temperature"] = prompt.temperature;
    if (!dialect_.length_key.empty()) body[dialect_.length_key] = options_.max_output_tokens;
    body["stream"] = dialect_.stream;
    if (dialect_.stream && dialect_.usage) body["stream_options"] = {{"include_usage", true}};
    return dump_json(body);
  }

  // True: a parameter that the server refuses was changed, and asking again makes sense. Each
  // change is made once, so this ends.
  bool adapt(const HttpResponse& response) {
    if (response.status != 400 && response.status != 422) return false;
    std::string why = lower(response.body);
    if (dialect_.usage && contains(why, "stream_options")) {
      dialect_.usage = false;
    } else if (dialect_.length_key == "max_tokens" && contains(why, "max_completion_tokens")) {
      dialect_.length_key = "max_completion_tokens";
    } else if (!dialect_.length_key.empty() && contains(why, dialect_.length_key)) {
      dialect_.length_key.clear();  // the server's own limit then
    } else if (dialect_.temperature && contains(why, "temperature")) {
      dialect_.temperature = false;
    } else if (dialect_.stream && contains(why, "stream")) {
      dialect_.stream = false;
    } else {
      return false;
    }
    return true;
  }

  tl::unexpected<Error> refused(const HttpResponse& response) const {
    int s = response.status;
    std::string message =
        fmt::format("{} answered HTTP {}: {}", url_.origin(), s, server_message(response.body));
    if (s == 401 || s == 403)
      return fail(message, key_.empty()
                               ? fmt::format("set {} to the API key", options_.api_key_env)
                               : fmt::format("check the API key in {}", options_.api_key_env));
    if (s == 404)
      return fail(message, fmt::format("does {} serve the model \"{}\"? The base URL usually ends "
                                       "in /v1",
                                       url_.origin(), options_.model));
    if (s / 100 == 3)
      return fail(message, "redirects are not followed: give the address itself as the base URL");
    if (s == 413 || (s == 400 && contains(lower(response.body), "context")))
      return fail(message, "lower the token budget of prompts");
    if (s == 429) return fail(message, "the account is at its limit: try later with --resume");
    return fail(message);
  }

  HttpRequest request_for(const Prompt& prompt, double left_s) const {
    HttpRequest request;
    request.url = url_;
    request.headers = {{"Content-Type", "application/json"},
                       {"Accept", dialect_.stream ? "text/event-stream" : "application/json"},
                       {"User-Agent", "kernelpro"}};
    if (!key_.empty()) request.headers.emplace_back("Authorization", "Bearer " + key_);
    request.body = body_of(prompt);
    request.timeout_s = left_s;
    request.idle_timeout_s = std::min(kIdle_s, options_.timeout_s);
    return request;
  }

  Result<Reply> talk(const Call& call) {
    Stopwatch watch;
    for (int retry = 0;;) {
      ChatAnswer answer;
      auto response = http_request(request_for(call.prompt, options_.timeout_s - watch.seconds()),
                                   [&](std::string_view piece) { return answer.feed(piece); });
      if (!response || response->status / 100 == 2) {
        auto reply = answer.finish();
        // A connection that broke after the model's own end took nothing away.
        if (!reply) return response ? reply : tl::make_unexpected(response.error());
        complete(*reply, call.prompt, watch.seconds());
        return reply;
      }
      if (adapt(*response)) continue;
      if (!worth_a_retry(*response)) return refused(*response);
      double wait = wait_of(*response, retry);
      if (retry++ == kMaxRetries || watch.seconds() + wait >= options_.timeout_s) {
        auto error = refused(*response);
        error.value().message += fmt::format(
            "; asked {} times in {:.1f} s, and the next time would be in {:g} s (time limit of a "
            "call: {:g} s)",
            retry, watch.seconds(), wait, options_.timeout_s);
        return error;
      }
      std::this_thread::sleep_for(std::chrono::duration<double>(wait));
    }
  }

  void complete(Reply& reply, const Prompt& prompt, double seconds) const {
    if (reply.model.empty()) reply.model = options_.model;
    if (reply.tokens_in == 0) reply.tokens_in = estimate_tokens(whole_text(prompt));
    if (reply.tokens_out == 0) reply.tokens_out = estimate_tokens(reply.text);
    reply.seconds = seconds;
  }

  ProviderOptions options_;
  Url url_;
  std::string key_;
  Dialect dialect_;
};

// The key may stay away for servers of one's own, which mostly ask for none.
Result<std::string> read_key(const ProviderOptions& options, const Url& url) {
  const char* value =
      options.api_key_env.empty() ? nullptr : std::getenv(options.api_key_env.c_str());
  std::string key(trim(value == nullptr ? "" : value));
  auto graphic = [](unsigned char c) { return std::isgraph(c) != 0; };
  if (!std::all_of(key.begin(), key.end(), graphic))
    return fail(
        fmt::format("provider openai: {} holds spaces or control characters", options.api_key_env),
        "set it to the API key alone");
  bool must = url.host == "api.openai.com" ||
              (!options.api_key_env.empty() && options.api_key_env != "OPENAI_API_KEY");
  if (key.empty() && must)
    return fail(fmt::format("provider openai: no API key: {} is not set",
                            options.api_key_env.empty() ? "OPENAI_API_KEY" : options.api_key_env),
                fmt::format("set it in the environment, or give the base URL of a server that "
                            "needs none ({} is asked now)",
                            url.origin()));
  return key;
}

}  // namespace

Result<std::unique_ptr<Provider>> make_openai(const ProviderOptions& options) {
  if (trim(options.model).empty())
    return fail("provider openai: no model is given", "name the model as the server does");
  std::string base = options.base_url.empty() ? kDefaultUrl : options.base_url;
  while (ends_with(base, "/")) base.pop_back();
  if (!ends_with(base, "/chat/completions")) base += "/chat/completions";
  KP_ASSIGN(Url url, parse_url(base, "provider openai: base URL"));
  if (!url.user.empty())
    return fail("provider openai: the base URL holds a name or password",
                "put the key into the environment variable instead");
  if (options.max_output_tokens <= 0)
    return fail(fmt::format("provider openai: at most {} output tokens", options.max_output_tokens),
                "give a positive number");
  KP_ASSIGN(std::string key, read_key(options, url));
  return std::make_unique<OpenAi>(options, std::move(url), std::move(key));
}

}  // namespace kp
