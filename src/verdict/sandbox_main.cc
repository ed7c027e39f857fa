// `kernelpro sandbox SPEC`: three processes. The outer one is our child and waits; the inner one is
// the first of the PID namespace, so that its end is everybody's end; the last runs the command.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "verdict/sandbox_layers.h"

namespace kp {

namespace {

constexpr int kCannotRun = 127;

bool write_text(const char* path, std::string_view text) {
  int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool done = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return done;
}

// A user namespace in which we keep our own number, so that files belong to whom they did.
SandboxLayer enter_user_namespace() {
  auto uid = ::geteuid();
  auto gid = ::getegid();
  SandboxLayer layer{"user namespace", false, ""};
  if (::unshare(CLONE_NEWUSER) != 0) {
    layer.detail = fmt::format("refused: {}", std::strerror(errno));
    return layer;
  }
  write_text("/proc/self/setgroups", "deny");
  layer.works = write_text("/proc/self/uid_map", fmt::format("{0} {0} 1", uid)) &&
                write_text("/proc/self/gid_map", fmt::format("{0} {0} 1", gid));
  layer.detail = layer.works ? "used" : "its map of users cannot be written";
  return layer;
}

struct Namespaces {
  bool mounts = false;
  bool pids = false;
  std::vector<SandboxLayer> layers;
};

Namespaces enter_namespaces() {
  Namespaces n;
  // With the right to make namespaces none of users is needed.
  std::string how = "namespace";
  if (::unshare(CLONE_NEWUTS) != 0) {
    SandboxLayer user = enter_user_namespace();
    how = user.works ? "namespace within a user namespace"
                     : "no namespace; user namespaces: " + user.detail;
    if (user.works) ::unshare(CLONE_NEWUTS);
  }
  auto enter = [&](const char* name, int flag, const char* otherwise) {
    bool done = ::unshare(flag) == 0;
    std::string detail =
        done ? how : fmt::format("{} ({}){}", how, std::strerror(errno), otherwise);
    n.layers.push_back({name, done, std::move(detail)});
    return done;
  };
  enter("network", CLONE_NEWNET, "; seccomp still refuses sockets");
  enter("shared memory", CLONE_NEWIPC, "");
  n.mounts = enter("mounts", CLONE_NEWNS, "");
  n.pids = enter("processes", CLONE_NEWPID, "; the process group is killed");
  return n;
}

SandboxSpec read_spec(const Json& json) {
  SandboxSpec spec;
  for (const auto& a : json.value("argv", Json::array())) spec.argv.push_back(a.get<std::string>());
  for (const auto& r : json.value("readable", Json::array()))
    spec.readable.push_back(r.get<std::string>());
  spec.scratch = string_or(json, "scratch", "");
  spec.limits.memory_bytes = int_or(json, "memory_bytes", spec.limits.memory_bytes);
  spec.limits.processes = int_or(json, "processes", spec.limits.processes);
  spec.limits.cpu_seconds = int_or(json, "cpu_seconds", spec.limits.cpu_seconds);
  spec.limits.file_bytes = int_or(json, "file_bytes", spec.limits.file_bytes);
  return spec;
}

void report(const std::vector<SandboxLayer>& layers) {
  Json list = Json::array();
  for (const auto& layer : layers)
    list.push_back({{"layer", layer.name}, {"works", layer.works}, {"detail", layer.detail}});
  std::string line = dump_json({{"ok", true}, {"sandbox", list}}) + "\n";
  [[maybe_unused]] auto n = ::write(1, line.data(), line.size());
}

// The last steps, in the process that becomes the command.
[[noreturn]] void run_command(const SandboxSpec& spec, std::vector<SandboxLayer> layers,
                              bool private_shm, bool by_cgroup) {
  layers.push_back(limit_by_rlimits(spec.limits, by_cgroup));
  layers.push_back(drop_privileges());
  layers.push_back(protect_by_landlock(spec, private_shm));
  layers.push_back(filter_system_calls());
  report(layers);
  std::vector<char*> argv;
  for (const auto& a : spec.argv) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  fmt::print(stderr, "kernelpro sandbox: {}: {}\n", spec.argv[0], std::strerror(errno));
  ::_exit(kCannotRun);
}

// Reaps everybody until `main_child` has ended; its exit code.
int wait_for(pid_t main_child) {
  while (true) {
    int status = 0;
    pid_t got = ::waitpid(-1, &status, 0);
    if (got == main_child)
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (got < 0 && errno != EINTR) return kCannotRun;
  }
}

// Also when the parent had gone before we asked; in a new PID namespace its number reads 0.
void die_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pid_t now = ::getppid();
  if (now != parent && now != 0) ::_exit(kCannotRun);
}

}  // namespace

SandboxLayer drop_privileges() {
  SandboxLayer layer{"privileges", false, ""};
  for (int capability = 0; capability <= 63; ++capability)
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  bool dropped = ::syscall(SYS_capset, &header, none) == 0;
  bool no_new = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  layer.works = dropped && no_new;
  layer.detail = layer.works ? "no capabilities, none to be had by programs"
                             : fmt::format("capabilities stay: {}", std::strerror(errno));
  return layer;
}

int sandbox_main(const std::string& text) {
  auto json = parse_json(text, "sandbox");
  SandboxSpec spec = read_spec(json ? *json : Json::object());
  if (spec.argv.empty() || spec.scratch.empty()) {
    fmt::print(stderr, "kernelpro sandbox: argv or scratch is missing\n");
    return kCannotRun;
  }
  SandboxLayer cgroup = limit_by_cgroup(spec.limits);
  Namespaces namespaces = enter_namespaces();
  std::vector<SandboxLayer> layers = namespaces.layers;
  layers.push_back(cgroup);
  pid_t outer = ::getpid();
  pid_t inner = ::fork();
  if (inner < 0) return kCannotRun;
  if (inner > 0) {
    return wait_for(inner);
  }
  die_with(outer);
  bool private_shm = false;
  if (namespaces.mounts) {
    SandboxLayer mounts = protect_mounts(spec.scratch, namespaces.pids);
    private_shm = mounts.works && contains(mounts.detail, "own /dev/shm");
    layers.push_back(std::move(mounts));
  }
  pid_t inner_pid = ::getpid();
  pid_t command = ::fork();
  if (command < 0) return kCannotRun;
  if (command == 0) {
    die_with(inner_pid);
    if (::chdir(spec.scratch.c_str()) != 0) ::_exit(kCannotRun);
    run_command(spec, std::move(layers), private_shm, cgroup.works);
  }
  int code = wait_for(command);
  // Without a PID namespace stragglers of the group would stay: they end with us, at the parent's
  // kill.
  ::_exit(code);
}

}  // namespace kp
