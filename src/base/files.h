#pragma once
// Files, folders and locks.
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kp {

namespace fs = std::filesystem;

Result<std::string> read_file(const fs::path& path);

// Writes beside the target and renames: readers see the old text or the new one, never a part.
Status write_file(const fs::path& path, std::string_view text);

Status make_folder(const fs::path& path);

// A new empty folder under the system's temporary folder, removed with everything in it at the end.
class TempFolder {
 public:
  static Result<TempFolder> make(std::string_view prefix);
  TempFolder(TempFolder&& other) noexcept;
  TempFolder& operator=(TempFolder&& other) noexcept;
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder();
  const fs::path& path() const { return path_; }

 private:
  explicit TempFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

// An exclusive lock between processes on a file (made when missing); freed at the end.
class FileLock {
 public:
  static Result<FileLock> acquire(const fs::path& path);      // waits
  static Result<FileLock> try_acquire(const fs::path& path);  // fails at once when held
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

// $KERNELPRO_CACHE, else $XDG_CACHE_HOME/kernelpro, else ~/.cache/kernelpro. Not created.
fs::path cache_folder();

// This program's own path, for starting it again as a worker.
fs::path own_program();

}  // namespace kp
