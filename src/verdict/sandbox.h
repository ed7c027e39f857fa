#pragma once
// Sandbox: a process that runs code nobody trusts (PyTorch modules). It lives in verdict/ because
// only the judging of modules needs it, and its tests need the program.
//
// `kernelpro sandbox SPEC` sets up every layer that the kernel has and then runs the command:
//   network      a network namespace without devices, and seccomp refuses socket()
//   files        read-only mounts but for the scratch folder; Landlock lets only listed folders be
//   read processes    a PID namespace that dies with its first process; nobody leaves the process
//   group limits       memory and processes by cgroup (2, else 1), else by rlimits; CPU time, file
//   sizes system calls seccomp: no ptrace, process_vm_*, bpf, perf, keys, mounts, namespaces,
//   modules, ... privileges   no capabilities, no_new_privs
// What is missing is reported and the rest is used all the same.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/process.h"

namespace kp {

struct SandboxLimits {
  std::int64_t memory_bytes = 32LL << 30;
  std::int64_t processes = 512;
  std::int64_t cpu_seconds = 3600;  // of one process
  std::int64_t file_bytes = 4LL << 30;
};

struct SandboxOptions {
  std::vector<std::string> argv;
  fs::path scratch;                   // the one folder that can be written; also HOME and TMPDIR
  std::vector<std::string> readable;  // besides the system's own folders
  std::map<std::string, std::string> env;  // added to the variables of the allow-list
  SandboxLimits limits;
  std::string stderr_path;
  fs::path helper;  // the kernelpro that has the command; empty: this program
};

struct SandboxLayer {
  std::string name;
  bool works = false;
  std::string detail;  // how it is done, or why it is missing
};

// How to start the command in the sandbox. Its first line on stdout is the layers' report.
ProcessOptions in_sandbox(const SandboxOptions& options);
Result<std::vector<SandboxLayer>> parse_layers(std::string_view line);

// The layers that this machine has, found by starting an empty command.
Result<std::vector<SandboxLayer>> probe_sandbox(const fs::path& helper = {});

// Variables of ours that a sandboxed process may see.
std::map<std::string, std::string> allowed_environment();

// The body of `kernelpro sandbox SPEC`: gives the command's exit code.
int sandbox_main(const std::string& spec);

}  // namespace kp
