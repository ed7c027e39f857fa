#include "llm/openai_answer.h"

#include <fmt/format.h>

#include <cctype>

#include "base/text.h"

namespace kp {
namespace {

// "content" is a string, null, or a list of parts of which those of type "text" count.
std::string content_of(const Json& message) {
  std::string out = string_or(message, "content", "");
  if (!message.is_object() || !message.contains("content")) return out;
  const Json& content = message["content"];
  if (!content.is_array()) return out;
  for (const Json& part : content) {
    if (string_or(part, "type", "text") == "text") out += string_or(part, "text", "");
  }
  return out;
}

bool has_reasoning(const Json& message) {
  for (const char* key : {"reasoning_content", "reasoning", "thinking"}) {
    if (!string_or(message, key, "").empty()) return true;
  }
  return false;
}

std::string one_line(std::string_view text, std::size_t at_most) {
  std::string out;
  for (char c : trim(text)) {
    bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (space && (out.empty() || out.back() == ' ')) continue;
    out.push_back(space ? ' ' : c);
  }
  if (out.size() > at_most) out = out.substr(0, at_most) + "...";
  return out;
}

}  // namespace

std::string server_message(std::string_view body) {
  body = trim(body);
  if (body.empty()) return "(no text)";
  if (starts_with(body, "<")) {
    std::string low = lower(body);
    std::size_t title = low.find("<title>");
    std::size_t end = low.find("</title>");
    std::string name;
    if (title != std::string::npos && end != std::string::npos && end > title)
      name = fmt::format(" titled \"{}\"", one_line(body.substr(title + 7, end - title - 7), 100));
    return "a web page" + name + ", not JSON";
  }
  auto json = parse_json(body, "answer");
  if (!json) return one_line(body, 300);
  const Json* at = json->is_object() && json->contains("error") ? &(*json)["error"] : &*json;
  if (at->is_string()) return one_line(at->get<std::string>(), 500);
  for (const char* key : {"message", "detail", "error"}) {
    std::string text = string_or(*at, key, "");
    if (!text.empty()) return one_line(text, 500);
  }
  return one_line(dump_json(*at), 500);
}

bool ChatAnswer::feed(std::string_view piece) {
  if (error_ || done_) return false;
  if (form_ == Form::unknown) {
    body_ += piece;
    std::string_view seen = trim(body_);
    if (starts_with(seen, "\xEF\xBB\xBF")) seen = trim(seen.substr(3));
    if (seen.empty()) return body_.size() < 65536;
    form_ = seen.front() == '{' || seen.front() == '[' || seen.front() == '<' ? Form::whole
                                                                              : Form::stream;
    if (form_ == Form::whole) return true;
    for (const auto& event : sse_.feed(std::exchange(body_, {}))) take_event(event);
    return !error_ && !done_;
  }
  if (form_ == Form::whole) {
    body_ += piece;
    return true;
  }
  for (const auto& event : sse_.feed(piece)) take_event(event);
  return !error_ && !done_;
}

void ChatAnswer::take_event(const SseEvent& event) {
  if (error_ || done_) return;
  std::string_view data = trim(event.data);
  if (data.empty()) return;
  if (data == "[DONE]") {
    done_ = true;
    return;
  }
  auto chunk = parse_json(data, "the stream");
  if (!chunk) {
    error_ = Error{"the stream holds an event that is not JSON: " + one_line(data, 200),
                   "is the base URL that of a chat-completions server?"};
    return;
  }
  take_chunk(*chunk);
}

void ChatAnswer::take_common(const Json& object) {
  if (std::string model = string_or(object, "model", ""); !model.empty()) reply_.model = model;
  if (!object.contains("usage")) return;
  reply_.tokens_in = int_or(object["usage"], "prompt_tokens", reply_.tokens_in);
  reply_.tokens_out = int_or(object["usage"], "completion_tokens", reply_.tokens_out);
}

// Reads a chunk of a stream ("delta") and a whole completion ("message") alike.
void ChatAnswer::take_chunk(const Json& chunk) {
  if (!chunk.is_object() || (chunk.contains("error") && !chunk["error"].is_null())) {
    error_ = Error{"the server broke off with an error: " + server_message(dump_json(chunk)), ""};
    return;
  }
  take_common(chunk);
  if (!chunk.contains("choices") || !chunk["choices"].is_array()) return;
  for (const Json& choice : chunk["choices"]) {
    if (int_or(choice, "index", 0) != 0) continue;
    const char* key = choice.contains("message") ? "message" : "delta";
    if (choice.contains(key)) {
      reply_.text += content_of(choice[key]);
      refusal_ += string_or(choice[key], "refusal", "");
      reasoned_ = reasoned_ || has_reasoning(choice[key]);
    }
    std::string reason = string_or(choice, "finish_reason", "");
    if (!reason.empty()) finish_reason_ = reason;
  }
}

Result<Reply> ChatAnswer::finish() {
  if (form_ == Form::stream) {
    if (auto last = sse_.finish()) take_event(*last);
  }
  if (form_ == Form::whole && !error_) {
    auto whole = parse_json(body_, "the answer");
    if (!whole || !whole->is_object())
      return fail(
          "the server did not answer with a chat completion but with: " + server_message(body_),
          "the base URL usually ends in /v1");
    if (!whole->contains("choices") && !whole->contains("error"))
      return fail("the answer has no \"choices\": " + one_line(body_, 300),
                  "is the base URL that of a chat-completions server?");
    take_chunk(*whole);
    done_ = true;
  }
  if (error_) return tl::make_unexpected(*error_);
  if (form_ == Form::unknown)
    return fail("the server answered with an empty body",
                "is the base URL that of a chat-completions server?");
  if (finish_reason_ == "length")
    return fail(fmt::format("the reply was cut at the limit of output tokens after {} characters{}",
                            reply_.text.size(),
                            reasoned_ ? " (the model's reasoning counts towards it)" : ""),
                "raise the limit of output tokens, or choose a model with a larger one");
  if (finish_reason_ == "content_filter")
    return fail("the reply was cut by the server's content filter");
  if (!finish_reason_ && !done_)
    return fail(fmt::format("the stream ended in the middle of the reply, after {} characters",
                            reply_.text.size()),
                "the connection or the server broke off; nothing of the reply was used");
  if (trim(reply_.text).empty()) {
    if (!refusal_.empty()) return fail("the model refused: " + one_line(refusal_, 300));
    return fail(fmt::format("the model's reply is empty{}",
                            reasoned_ ? ": it only reasoned, and wrote no answer" : ""),
                reasoned_ ? "raise the limit of output tokens" : "try again, or another model");
  }
  return reply_;
}

}  // namespace kp
