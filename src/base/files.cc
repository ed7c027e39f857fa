#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace kp {

Result<std::string> read_file(const fs::path& path) {
  std::error_code ec;
  if (!fs::exists(path, ec)) return fail(fmt::format("{}: no such file", path.string()));
  if (fs::is_directory(path, ec)) return fail(fmt::format("{}: is a folder", path.string()));
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) return fail(fmt::format("{}: reading failed", path.string()));
  return text;
}

Status write_file(const fs::path& path, std::string_view text) {
  if (path.has_parent_path()) KP_TRY(make_folder(path.parent_path()));
  fs::path part = path;
  part += fmt::format(".{}.part", ::getpid());
  {
    std::ofstream out(part, std::ios::binary | std::ios::trunc);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.flush();
    if (!out) {
      std::string why = std::strerror(errno);
      std::error_code ignored;
      fs::remove(part, ignored);
      return fail(fmt::format("{}: cannot be written: {}", path.string(), why));
    }
  }
  std::error_code ec;
  fs::rename(part, path, ec);
  if (ec) return fail(fmt::format("{}: cannot be written: {}", path.string(), ec.message()));
  return {};
}

Status make_folder(const fs::path& path) {
  std::error_code ec;
  fs::create_directories(path, ec);
  if (ec) return fail(fmt::format("{}: cannot make this folder: {}", path.string(), ec.message()));
  return {};
}

Result<TempFolder> TempFolder::make(std::string_view prefix) {
  std::error_code ec;
  fs::path base = fs::temp_directory_path(ec);
  if (ec) base = "/tmp";
  std::string pattern = (base / fmt::format("{}-XXXXXX", prefix)).string();
  if (::mkdtemp(pattern.data()) == nullptr)
    return fail(
        fmt::format("{}: cannot make a temporary folder: {}", base.string(), std::strerror(errno)),
        "set TMPDIR to a folder that you may write to");
  return TempFolder(fs::path(pattern));
}

TempFolder::TempFolder(TempFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TempFolder& TempFolder::operator=(TempFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TempFolder::~TempFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

namespace {

Result<int> open_lock(const fs::path& path, int how) {
  if (path.has_parent_path()) KP_TRY(make_folder(path.parent_path()));
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return fail(fmt::format("{}: {}", path.string(), std::strerror(errno)));
  int rc = 0;
  do {
    rc = ::flock(fd, how);
  } while (rc != 0 && errno == EINTR);
  if (rc != 0) {
    bool held = errno == EWOULDBLOCK;
    ::close(fd);
    return fail(fmt::format("{}: {}", path.string(),
                            held ? "held by another process" : "cannot be locked"));
  }
  return fd;
}

}  // namespace

Result<FileLock> FileLock::acquire(const fs::path& path) {
  KP_ASSIGN(int fd, open_lock(path, LOCK_EX));
  return FileLock(fd);
}

Result<FileLock> FileLock::try_acquire(const fs::path& path) {
  KP_ASSIGN(int fd, open_lock(path, LOCK_EX | LOCK_NB));
  return FileLock(fd);
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

fs::path cache_folder() {
  if (const char* own = std::getenv("KERNELPRO_CACHE"); own != nullptr && *own != '\0') return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != '\0')
    return fs::path(xdg) / "kernelpro";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return fs::path(home) / ".cache" / "kernelpro";
  return fs::path("/tmp") / "kernelpro-cache";
}

fs::path own_program() {
  if (const char* named = std::getenv("KERNELPRO_PROGRAM"); named != nullptr && *named != '\0')
    return named;
  std::error_code ec;
  fs::path p = fs::read_symlink("/proc/self/exe", ec);
  return ec ? fs::path("kernelpro") : p;
}

}  // namespace kp
