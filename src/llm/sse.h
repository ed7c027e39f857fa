#pragma once
// Server-sent events (WHATWG HTML, section 9.2), parsed as the bytes arrive.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kp {

struct SseEvent {
  std::string type;  // the "event" field; empty for the default
  std::string data;  // "data" lines, joined by '\n'
};

// Lines may end in LF, CR or CRLF and may be cut anywhere, inside a UTF-8 character too. Comments,
// ids, retry times and unknown fields are passed over.
class SseParser {
 public:
  // The events that `bytes` completes.
  std::vector<SseEvent> feed(std::string_view bytes);

  // At the end of the stream: the last event, when its lines are whole and only the blank line that
  // dispatches it never came. A torn line is dropped.
  std::optional<SseEvent> finish();

 private:
  void end_line(std::vector<SseEvent>& events);

  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool after_cr_ = false;   // an LF now belongs to the CR before it
  bool first_line_ = true;  // a byte order mark may stand before it
};

}  // namespace kp
