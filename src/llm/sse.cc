#include "llm/sse.h"

#include <utility>

#include "base/text.h"

namespace kp {

std::vector<SseEvent> SseParser::feed(std::string_view bytes) {
  std::vector<SseEvent> events;
  for (char c : bytes) {
    bool joined = after_cr_ && c == '\n';
    after_cr_ = c == '\r';
    if (joined) continue;
    if (c == '\n' || c == '\r') {
      end_line(events);
    } else {
      line_.push_back(c);
    }
  }
  return events;
}

std::optional<SseEvent> SseParser::finish() {
  line_.clear();
  if (!has_data_) return std::nullopt;
  has_data_ = false;
  return std::exchange(event_, {});
}

void SseParser::end_line(std::vector<SseEvent>& events) {
  std::string line = std::exchange(line_, {});
  if (std::exchange(first_line_, false) && starts_with(line, "\xEF\xBB\xBF")) line.erase(0, 3);
  if (line.empty()) {
    if (has_data_) events.push_back(std::move(event_));
    event_ = {};
    has_data_ = false;
    return;
  }
  std::size_t colon = line.find(':');
  std::string_view field = std::string_view(line).substr(0, colon);
  std::string_view value;
  if (colon != std::string::npos) value = std::string_view(line).substr(colon + 1);
  if (starts_with(value, " ")) value.remove_prefix(1);
  if (field == "event") event_.type = value;
  if (field == "data") {
    if (has_data_) event_.data.push_back('\n');
    event_.data += value;
    has_data_ = true;
  }
}

}  // namespace kp
