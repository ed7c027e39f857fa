// The file system of a sandboxed process: everything read-only, the scratch folder excepted.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/text.h"
#include "verdict/sandbox_layers.h"

namespace kp {

namespace {

// Of <linux/mount.h> (5.12); not every libc has it.
constexpr long kMountSetattr = 442;
constexpr std::uint64_t kReadOnly = 1, kNoSetuid = 2;
constexpr unsigned kRecursive = 0x8000, kHere = 0;

struct MountAttributes {
  std::uint64_t set, clear, propagation, user_namespace;
};

bool set_attributes(const std::string& path, unsigned flags, std::uint64_t set,
                    std::uint64_t clear) {
  MountAttributes a{set, clear, 0, 0};
  return ::syscall(kMountSetattr, -1, path.c_str(), flags, &a, sizeof a) == 0;
}

constexpr long kOpenTree = 428, kMoveMount = 429;
constexpr unsigned kClone = 1, kFromIsEmpty = 4;  // OPEN_TREE_CLONE, MOVE_MOUNT_F_EMPTY_PATH

struct KeptMount {
  std::string place;
  int tree;
};

// What is mounted below /proc: a container hides parts of it so, and tells the CUDA driver by its
// own /proc/driver/nvidia/params to leave device files alone.
std::vector<KeptMount> mounts_below_proc() {
  std::vector<KeptMount> kept;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    auto fields = split(line, ' ');
    if (fields.size() < 5 || !starts_with(fields[4], "/proc/")) continue;
    std::string place(fields[4]);
    auto tree = ::syscall(kOpenTree, AT_FDCWD, place.c_str(), kClone | O_CLOEXEC);
    if (tree >= 0) kept.push_back({std::move(place), static_cast<int>(tree)});
  }
  return kept;
}

// A private /proc in which only this PID namespace is seen, with the same places covered as before.
bool mount_own_proc() {
  std::vector<KeptMount> kept = mounts_below_proc();
  bool done = ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
  for (const auto& mount : kept) {
    if (done) ::syscall(kMoveMount, mount.tree, "", AT_FDCWD, mount.place.c_str(), kFromIsEmpty);
    ::close(mount.tree);
  }
  return done;
}

}  // namespace

SandboxLayer protect_mounts(const fs::path& scratch, bool new_pids) {
  SandboxLayer layer{"read-only files", false, ""};
  auto broken = [&](std::string_view doing) {
    layer.detail = fmt::format("{}: {}", doing, std::strerror(errno));
    return layer;
  };
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return broken("making mounts private");
  // Other processes are not seen. A container that masks parts of /proc does not let us.
  bool own_proc = new_pids && mount_own_proc();
  bool own_shm =
      ::mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "size=2g,mode=1777") == 0;
  if (::mount(scratch.c_str(), scratch.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return broken("mounting the scratch folder");
  if (!set_attributes("/", kRecursive, kReadOnly | kNoSetuid, 0))
    return broken("mount_setattr (Linux 5.12 has it)");
  if (!set_attributes(scratch.string(), kHere, 0, kReadOnly))
    return broken("making the scratch folder writable");
  if (own_shm) set_attributes("/dev/shm", kHere, 0, kReadOnly);
  layer.works = true;
  layer.detail = fmt::format("mounts are read-only but for scratch{}{}",
                             own_proc ? ", own /proc" : ", /proc shows all processes",
                             own_shm ? ", own /dev/shm" : "");
  return layer;
}

}  // namespace kp
