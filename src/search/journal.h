#pragma once
// The journal: append-only, versioned, one JSON line an event. The only truth of a run.
//
// A run's folder (run_folder.h) holds it as journal.jsonl. What the other files there hold is
// derived from it and is written anew on resume.
#include <cstdint>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace kp {

inline constexpr int kJournalVersion = 1;

// First line: {"kernelpro_journal": 1}. Then events: {"event": NAME, ...}.
class Journal {
 public:
  // Opens or creates, takes the run's lock (a second process is refused), cuts a torn last line,
  // and returns the events that are there. Errors, none of which changes the file: held by another
  // process, not a journal, written by a newer version, a damaged line (with its number).
  static Result<Journal> open(const fs::path& file);
  const std::vector<Json>& events() const { return events_; }
  // One write(2) and fdatasync; the event is in events() afterwards, as it will be read again (bad
  // UTF-8 replaced). A write that fails or is cut short is taken back and is an Error.
  Status append(const Json& event);

 private:
  Journal(FileLock lock, int fd) : lock_(std::move(lock)), fd_(fd) {}
  FileLock lock_;
  fs::path file_;
  int fd_ = -1;
  std::int64_t size_ = 0;  // bytes that are whole lines
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
