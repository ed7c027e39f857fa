// Landlock (Linux 5.13 and later): which files a sandboxed process may open.
#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "verdict/sandbox_layers.h"

namespace kp {

namespace {

// Of <linux/landlock.h>, which is older than the kernels that this runs on.
constexpr long kCreate = 444, kAddRule = 445, kRestrict = 446;
constexpr std::uint64_t kExecute = 1, kWriteFile = 2, kReadFile = 4, kReadDir = 8;
constexpr std::uint64_t kRefer = 1 << 13, kTruncate = 1 << 14, kIoctl = 1 << 15;
constexpr std::uint64_t kFileRights = kExecute | kWriteFile | kReadFile | kTruncate | kIoctl;

struct Ruleset {
  std::uint64_t fs;
  std::uint64_t net;     // since version 4
  std::uint64_t scoped;  // since version 6
};

struct __attribute__((packed)) PathRule {
  std::uint64_t rights;
  std::int32_t parent;
};

// All rights over files that this version of Landlock knows.
std::uint64_t rights_of(long version) {
  std::uint64_t rights = (1 << 13) - 1;
  if (version >= 2) rights |= kRefer;
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kIoctl;
  return rights;
}

void allow(int ruleset, const std::string& path, std::uint64_t rights) {
  int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return;  // not on this machine
  struct stat s {};
  if (::fstat(fd, &s) == 0) {
    PathRule rule{S_ISDIR(s.st_mode) ? rights : rights & kFileRights, fd};
    ::syscall(kAddRule, ruleset, 1, &rule, 0);
  }
  ::close(fd);
}

// What programs, Python, compilers and the CUDA driver read.
constexpr const char* kSystem[] = {"/usr",
                                   "/bin",
                                   "/sbin",
                                   "/lib",
                                   "/lib32",
                                   "/lib64",
                                   "/opt",
                                   "/nix/store",
                                   "/sys",
                                   "/proc",
                                   "/etc/ld.so.cache",
                                   "/etc/ld.so.conf",
                                   "/etc/ld.so.conf.d",
                                   "/etc/alternatives",
                                   "/etc/localtime",
                                   "/etc/passwd",
                                   "/etc/group",
                                   "/etc/nsswitch.conf",
                                   "/etc/os-release",
                                   "/etc/python3"};
constexpr const char* kDevices[] = {"/dev/null",    "/dev/zero",    "/dev/full", "/dev/random",
                                    "/dev/urandom", "/dev/nvidia*", "/dev/dxg"};

}  // namespace

SandboxLayer protect_by_landlock(const SandboxSpec& spec, bool private_shm) {
  SandboxLayer layer{"file access", false, ""};
  long version = ::syscall(kCreate, nullptr, 0, 1);
  if (version < 1) {
    layer.detail =
        fmt::format("Landlock is missing ({}): files can be read everywhere", std::strerror(errno));
    return layer;
  }
  const std::uint64_t all = rights_of(version);
  const std::uint64_t read = kReadFile | kReadDir | kExecute;
  Ruleset rules{all, 0, 0};
  if (version >= 4) rules.net = 3;     // neither bind nor connect TCP
  if (version >= 6) rules.scoped = 3;  // abstract sockets and signals stay inside
  std::size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  int ruleset = static_cast<int>(::syscall(kCreate, &rules, size, 0));
  if (ruleset < 0) {
    layer.detail = fmt::format("Landlock: {}", std::strerror(errno));
    return layer;
  }
  for (const char* path : kSystem) allow(ruleset, path, read);
  for (const auto& path : spec.readable) allow(ruleset, path, read);
  allow(ruleset, spec.scratch.string(), all);
  if (private_shm) allow(ruleset, "/dev/shm", all);
  const std::uint64_t device = (kReadFile | kReadDir | kWriteFile | kIoctl) & all;
  for (const char* pattern : kDevices) {
    glob_t found{};
    if (::glob(pattern, 0, nullptr, &found) == 0)
      for (std::size_t i = 0; i < found.gl_pathc; ++i) allow(ruleset, found.gl_pathv[i], device);
    ::globfree(&found);
  }
  layer.works = ::syscall(kRestrict, ruleset, 0) == 0;
  layer.detail = layer.works
                     ? fmt::format("Landlock {}: listed folders are read, scratch is written{}",
                                   version, version >= 6 ? ", signals stay inside" : "")
                     : fmt::format("Landlock: {}", std::strerror(errno));
  ::close(ruleset);
  return layer;
}

}  // namespace kp
