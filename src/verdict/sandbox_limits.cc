// Memory, processes and time: cgroups where they can be written, else rlimits.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "verdict/sandbox_layers.h"

namespace kp {

namespace {

constexpr std::string_view kPrefix = "kernelpro-sandbox-";  // then the process's number

// Of /proc and cgroupfs: read_file asks for a size first, which these do not have.
std::string read_all(const fs::path& path) {
  std::string text;
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char chunk[4096];
  for (ssize_t n = 0; fd >= 0 && (n = ::read(fd, chunk, sizeof chunk)) > 0;)
    text.append(chunk, static_cast<std::size_t>(n));
  if (fd >= 0) ::close(fd);
  return text;
}

bool put(const fs::path& path, std::string_view text) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool done = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return done;
}

// A cgroup outlives a helper that was killed: those without a process are taken away.
void remove_stale(const fs::path& parent) {
  DIR* folder = ::opendir(parent.c_str());
  if (folder == nullptr) return;
  while (dirent* entry = ::readdir(folder))
    if (starts_with(entry->d_name, kPrefix)) ::rmdir((parent / entry->d_name).c_str());
  ::closedir(folder);
}

// Makes a cgroup in `parent`, writes the limits and enters it.
bool enter(const fs::path& parent, const std::vector<std::pair<std::string, std::string>>& limits) {
  remove_stale(parent);
  fs::path group = parent / fmt::format("{}{}", kPrefix, ::getpid());
  if (::mkdir(group.c_str(), 0755) != 0) return false;
  bool done = true;
  for (const auto& [file, value] : limits) done = done && put(group / file, value);
  done = done && put(group / "cgroup.procs", "0");
  if (!done) ::rmdir(group.c_str());
  return done;
}

struct Hierarchy {
  fs::path mount;
  fs::path own;  // this process's place in it
};

// `controller`: of cgroup 1, or empty for cgroup 2.
std::optional<Hierarchy> hierarchy(std::string_view controller) {
  std::string mounts = read_all("/proc/self/mountinfo");
  std::string groups = read_all("/proc/self/cgroup");
  Hierarchy found;
  for (auto line : lines_of(mounts)) {
    auto fields = split(line, ' ');
    std::size_t dash = 6;
    while (dash < fields.size() && fields[dash] != "-") ++dash;
    if (dash + 3 >= fields.size()) continue;
    bool is_v2 = fields[dash + 1] == "cgroup2";
    bool is_v1 = fields[dash + 1] == "cgroup";
    bool named = false;
    for (auto option : split(fields[dash + 3], ',')) named = named || option == controller;
    if (controller.empty() ? is_v2 : is_v1 && named) found.mount = std::string(fields[4]);
  }
  if (found.mount.empty()) return std::nullopt;
  for (auto line : lines_of(groups)) {
    auto fields = split(line, ':');
    if (fields.size() < 3) continue;
    bool named = controller.empty() ? fields[0] == "0" && fields[1].empty() : false;
    for (auto name : split(fields[1], ','))
      named = named || (!controller.empty() && name == controller);
    if (named) found.own = found.mount / std::string(fields[2].substr(1));
  }
  if (found.own.empty()) return std::nullopt;
  return found;
}

// cgroup 2 lets only groups without processes hand controllers down: the nearest such ancestor.
bool enter_v2(const SandboxLimits& limits) {
  auto place = hierarchy("");
  if (!place) return false;
  for (fs::path at = place->own;; at = at.parent_path()) {
    std::string given = read_all(at / "cgroup.subtree_control");
    bool both = contains(given, "memory") && contains(given, "pids");
    if (both || put(at / "cgroup.subtree_control", "+memory +pids"))
      if (enter(at, {{"memory.max", std::to_string(limits.memory_bytes)},
                     {"memory.swap.max", "0"},
                     {"pids.max", std::to_string(limits.processes)}}) ||
          enter(at, {{"memory.max", std::to_string(limits.memory_bytes)},
                     {"pids.max", std::to_string(limits.processes)}}))
        return true;
    if (at == place->mount || !starts_with(at.string(), place->mount.string())) return false;
  }
}

bool enter_v1(std::string_view controller, const char* file, std::int64_t limit) {
  auto place = hierarchy(controller);
  return place && enter(place->own, {{file, std::to_string(limit)}});
}

void limit(int what, std::int64_t value) {
  rlimit r{};
  ::getrlimit(static_cast<__rlimit_resource>(what), &r);
  auto wanted = static_cast<rlim_t>(value);
  r.rlim_max = std::min(r.rlim_max, wanted);
  r.rlim_cur = r.rlim_max;
  ::setrlimit(static_cast<__rlimit_resource>(what), &r);
}

}  // namespace

SandboxLayer limit_by_cgroup(const SandboxLimits& limits) {
  SandboxLayer layer{"cgroup", false, ""};
  if (enter_v2(limits)) {
    layer.works = true;
    layer.detail = "memory and processes by cgroup 2";
    return layer;
  }
  bool memory = enter_v1("memory", "memory.limit_in_bytes", limits.memory_bytes);
  bool pids = enter_v1("pids", "pids.max", limits.processes);
  layer.works = memory && pids;
  if (layer.works) layer.detail = "memory and processes by cgroup 1";
  if (memory && !pids) layer.detail = "memory only, by cgroup 1";
  if (!memory && pids) layer.detail = "processes only, by cgroup 1";
  if (!memory && !pids) layer.detail = "no cgroup can be written: rlimits only";
  return layer;
}

SandboxLayer limit_by_rlimits(const SandboxLimits& limits, bool by_cgroup) {
  // RLIMIT_AS would forbid CUDA's large reservations; RLIMIT_DATA counts only what can be written.
  limit(RLIMIT_DATA, limits.memory_bytes);
  limit(RLIMIT_CPU, limits.cpu_seconds);
  limit(RLIMIT_FSIZE, limits.file_bytes);
  limit(RLIMIT_CORE, 0);
  SandboxLayer layer{"limits", true, "memory of a process, CPU time, file sizes"};
  if (by_cgroup) return layer;
  // Counts every process of the user, so those that run already are added.
  std::int64_t running = 0;
  if (DIR* folder = ::opendir("/proc")) {
    while (dirent* entry = ::readdir(folder))
      running += entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
    ::closedir(folder);
  }
  limit(RLIMIT_NPROC, running + limits.processes);
  layer.works = ::geteuid() != 0;
  layer.detail += layer.works ? ", number of processes"
                              : "; the number of processes is not limited: root needs a cgroup";
  return layer;
}

}  // namespace kp
