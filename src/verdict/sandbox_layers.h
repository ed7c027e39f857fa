#pragma once
// The single layers of the sandbox. Each changes the calling process, and says how it went.
#include "verdict/sandbox.h"

namespace kp {

struct SandboxSpec {
  std::vector<std::string> argv;
  fs::path scratch;
  std::vector<std::string> readable;
  SandboxLimits limits;
};

// By a cgroup of its own, which this process enters; names what could be limited.
SandboxLayer limit_by_cgroup(const SandboxLimits& limits);
// By rlimits. `by_cgroup`: memory and processes are limited already.
SandboxLayer limit_by_rlimits(const SandboxLimits& limits, bool by_cgroup);

// Read-only everywhere but the scratch folder, own /proc and /dev/shm. In a new mount namespace.
SandboxLayer protect_mounts(const fs::path& scratch, bool new_pids);
// Landlock: reads only of listed folders, writes only to scratch and devices, signals and abstract
// sockets only within.
SandboxLayer protect_by_landlock(const SandboxSpec& spec, bool private_shm);
SandboxLayer drop_privileges();  // capabilities; sets no_new_privs
SandboxLayer filter_system_calls();

}  // namespace kp
