#include "search/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kp {

namespace {

struct Contents {
  std::vector<Json> events;
  std::size_t whole = 0;    // bytes up to and with the last newline
  bool has_header = false;  // false: nothing, or a torn first line
};

std::string header_line() {
  return dump_json(Json{{"kernelpro_journal", kJournalVersion}}) + "\n";
}

Status check_header(std::string_view line, const std::string& name) {
  auto json = parse_json(line, name);
  if (!json || !json->is_object() || !json->contains("kernelpro_journal"))
    return fail(fmt::format("{}:1: not a journal of kernelpro", name),
                "name a file that a run has written (journal.jsonl)");
  std::int64_t version = int_or(*json, "kernelpro_journal", 0);
  if (version < 1 || version > kJournalVersion)
    return fail(fmt::format("{}:1: journal version {}; this kernelpro reads up to version {}", name,
                            version, kJournalVersion),
                "use the kernelpro that wrote it, or a newer one; the file was left as it is");
  return {};
}

Result<Contents> parse_contents(std::string_view text, const std::string& name) {
  Contents contents;
  std::size_t start = 0;
  for (int number = 1;; ++number) {
    std::size_t end = text.find('\n', start);
    if (end == std::string_view::npos) break;
    std::string_view line = text.substr(start, end - start);
    if (number == 1) {
      KP_TRY(check_header(line, name));
      contents.has_header = true;
    } else {
      auto event = parse_json(line, name);
      if (!event || string_or(*event, "event", "").empty())
        return fail(fmt::format("{}:{}: damaged line: {}", name, number,
                                event ? "no event is named" : event.error().message),
                    "restore the file from a copy, or cut it before this line to go on from there");
      contents.events.push_back(std::move(*event));
    }
    start = end + 1;
  }
  contents.whole = start;
  // A first line without its end is ours only when it is the beginning of a header.
  if (!contents.has_header && !header_line().starts_with(text))
    return fail(fmt::format("{}:1: not a journal of kernelpro", name),
                "name a file that a run has written (journal.jsonl)");
  return contents;
}

Status write_whole(int fd, std::string_view text, std::int64_t size, const std::string& name) {
  ssize_t written = 0;
  do {
    written = ::write(fd, text.data(), text.size());
  } while (written < 0 && errno == EINTR);
  std::string why = written < 0 ? std::strerror(errno) : "the disk took only a part of the line";
  if (written == static_cast<ssize_t>(text.size())) {
    if (::fdatasync(fd) == 0) return {};
    why = std::strerror(errno);
  }
  if (::ftruncate(fd, size) != 0) why += "; what was written of it could not be taken back";
  return fail(fmt::format("{}: cannot be written: {}", name, why),
              "make room on that disk, then resume the run: nothing before this event is lost");
}

void sync_folder(const fs::path& folder) {
  int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;  // best effort: some file systems cannot
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

Result<Journal> Journal::open(const fs::path& file) {
  std::error_code ec;
  bool is_new = !fs::exists(file, ec);
  auto lock = FileLock::try_acquire(file);
  if (!lock)
    return fail(lock.error().message,
                "another kernelpro may be working on this run: wait for it or end it");
  KP_ASSIGN(std::string text, read_file(file));
  std::string name = file.string();
  KP_ASSIGN(Contents contents, parse_contents(text, name));
  int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return fail(fmt::format("{}: {}", name, std::strerror(errno)));
  Journal journal(std::move(*lock), fd);
  journal.file_ = file;
  journal.size_ = static_cast<std::int64_t>(contents.whole);
  journal.events_ = std::move(contents.events);
  if (contents.whole != text.size() && ::ftruncate(fd, journal.size_) != 0)
    return fail(fmt::format("{}: a torn last line cannot be cut: {}", name, std::strerror(errno)));
  if (!contents.has_header) {
    std::string header = header_line();
    KP_TRY(write_whole(fd, header, 0, name));
    journal.size_ = static_cast<std::int64_t>(header.size());
    if (is_new) sync_folder(file.parent_path());
  }
  return journal;
}

Status Journal::append(const Json& event) {
  std::string line = dump_json(event);
  KP_ASSIGN(Json again, parse_json(line, file_.string()));
  KP_CHECK(!string_or(again, "event", "").empty());
  line += '\n';
  KP_TRY(write_whole(fd_, line, size_, file_.string()));
  size_ += static_cast<std::int64_t>(line.size());
  events_.push_back(std::move(again));
  return {};
}

Journal::Journal(Journal&& other) noexcept
    : lock_(std::move(other.lock_)),
      file_(std::move(other.file_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      events_(std::move(other.events_)) {}

Journal::~Journal() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::vector<Json>> read_journal(const fs::path& file) {
  KP_ASSIGN(std::string text, read_file(file));
  KP_ASSIGN(Contents contents, parse_contents(text, file.string()));
  return std::move(contents.events);
}

}  // namespace kp
