#pragma once
// The journal: append-only, versioned, one JSON line an event. The only truth of a run.
#include <functional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace kp {

// First line: {"kernelpro_journal": 1}. Then events: {"event": NAME, ...}.
class Journal {
 public:
  // Opens or creates, takes the run's lock (a second process is refused), cuts a torn last line,
  // and returns the events that are there.
  static Result<Journal> open(const fs::path& file);
  const std::vector<Json>& events() const { return events_; }
  // One write(2) and fdatasync; the event is in events() afterwards.
  Status append(const Json& event);

 private:
  Journal(FileLock lock, int fd) : lock_(std::move(lock)), fd_(fd) {}
  FileLock lock_;
  int fd_ = -1;
  std::vector<Json> events_;

 public:
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();
};

// Reads events without locking (reports, replay). A torn last line is passed over.
Result<std::vector<Json>> read_journal(const fs::path& file);

}  // namespace kp
