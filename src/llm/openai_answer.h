#pragma once
// The answer of a chat-completions server, put together from the pieces of its body. Pure: no
// network.
#include <optional>
#include <string>
#include <string_view>

#include "llm/provider.h"
#include "llm/sse.h"

namespace kp {

// Takes an event stream or one JSON object, whichever comes. Only choice 0 is read; fields of
// reasoning are not part of the reply.
class ChatAnswer {
 public:
  // False: the answer is at its end (or broken), nothing more is wanted.
  bool feed(std::string_view piece);

  // Error: the stream ended before the model said that it was done, the reply was cut by a limit of
  // length or by a filter, the server reported an error, nothing was written, or it was no
  // chat completion at all. Token counts are 0 when the server gave none.
  Result<Reply> finish();

 private:
  enum class Form { unknown, stream, whole };
  void take_event(const SseEvent& event);
  void take_chunk(const Json& chunk);
  void take_common(const Json& object);

  Form form_ = Form::unknown;
  std::string body_;  // of a whole answer, or the bytes before the form was known
  SseParser sse_;
  Reply reply_;
  std::string refusal_;
  std::optional<std::string> finish_reason_;
  bool reasoned_ = false;
  bool done_ = false;  // [DONE] came
  std::optional<Error> error_;
};

// What a server says is wrong, in one line: {"error": {"message"}}, {"error": "..."},
// {"message"}, {"detail"}, else the beginning of the body; HTML is named as such.
std::string server_message(std::string_view body);

}  // namespace kp
