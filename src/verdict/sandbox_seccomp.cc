// Which system calls a sandboxed process may not make (seccomp-BPF).
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "verdict/sandbox_layers.h"

namespace kp {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArch = AUDIT_ARCH_AARCH64;
#endif

// Refused with EPERM. Numbers of calls newer than the headers are the same on all architectures.
constexpr std::uint32_t kRefused[] = {
    // other processes
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, 438 /* pidfd_getfd */,
    440 /* process_madvise */, 448 /* process_mrelease */,
    // the network: with the namespace empty as well. (See below for socket.)
    SYS_connect,
    // the kernel itself
    SYS_kexec_load, SYS_kexec_file_load, SYS_bpf, SYS_perf_event_open, SYS_init_module,
    SYS_finit_module, SYS_delete_module, SYS_reboot, SYS_syslog, SYS_acct, SYS_quotactl, SYS_swapon,
    SYS_swapoff, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex,
    SYS_sethostname, SYS_setdomainname, SYS_userfaultfd, SYS_personality,
    // keys
    SYS_add_key, SYS_request_key, SYS_keyctl,
    // files past the mounts
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_by_handle_at,
    SYS_name_to_handle_at, 428 /* open_tree */, 429 /* move_mount */, 430 /* fsopen */,
    431 /* fsconfig */, 432 /* fsmount */, 433 /* fspick */, 442 /* mount_setattr */,
    // namespaces
    SYS_unshare, SYS_setns,
    // io_uring makes calls that no filter sees
    425, 426, 427};

constexpr std::uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                         CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP;
constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;

sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}

sock_filter answer(std::uint32_t value) {
  return BPF_STMT(BPF_RET | BPF_K, value);
}

// The next instruction is run when the number matches, else skipped.
sock_filter when_equal(std::uint32_t value, std::uint8_t skip = 1) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip);
}

std::vector<sock_filter> program() {
  // The low half of an argument: both architectures are little-endian.
  auto argument = [](std::size_t i) { return load(offsetof(seccomp_data, args) + 8 * i); };
  std::vector<sock_filter> p = {
      load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArch, 1, 0),
      answer(SECCOMP_RET_KILL_PROCESS),
      load(offsetof(seccomp_data, nr)),
      // x32's own numbers
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
      answer(kRefuse),
  };
  for (std::uint32_t number : kRefused) {
    p.push_back(when_equal(number));
    p.push_back(answer(kRefuse));
  }
  // clone3's flags lie in memory where no filter sees them: without it libc takes clone.
  p.push_back(when_equal(435));
  p.push_back(answer(SECCOMP_RET_ERRNO | ENOSYS));
  // Nobody leaves the process group, so that a kill of the group reaches all. Build tools (ninja)
  // ask for groups and end when refused: they are told that it was done.
  for (std::uint32_t number : {SYS_setpgid, SYS_setsid}) {
    p.push_back(when_equal(number));
    p.push_back(answer(SECCOMP_RET_ERRNO | 0));
  }
  // socket: the CUDA driver listens on one of its own kind when it starts, and cannot do without.
  // Of this kind nothing is sent unless connected, which is refused.
  p.push_back(when_equal(SYS_socket, 7));
  p.push_back(argument(0));
  p.push_back(when_equal(AF_UNIX, 4));
  p.push_back(argument(1));
  p.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf));
  p.push_back(when_equal(SOCK_SEQPACKET));
  p.push_back(answer(SECCOMP_RET_ALLOW));
  p.push_back(answer(kRefuse));
  // clone: threads and processes, no namespaces.
  p.push_back(when_equal(SYS_clone, 3));
  p.push_back(argument(0));
  p.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kNewNamespaces, 0, 1));
  p.push_back(answer(kRefuse));
  p.push_back(load(offsetof(seccomp_data, nr)));
  // ioctl: no typing into a terminal (TIOCSTI, TIOCLINUX).
  p.push_back(when_equal(SYS_ioctl, 5));
  p.push_back(argument(1));
  p.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x5412, 1, 0));
  p.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x541c, 0, 1));
  p.push_back(answer(kRefuse));
  p.push_back(answer(SECCOMP_RET_ALLOW));
  // prlimit64: of oneself only.
  p.push_back(when_equal(SYS_prlimit64, 3));
  p.push_back(argument(0));
  p.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
  p.push_back(answer(kRefuse));
  p.push_back(answer(SECCOMP_RET_ALLOW));
  return p;
}

}  // namespace

SandboxLayer filter_system_calls() {
  SandboxLayer layer{"system calls", false, ""};
  std::vector<sock_filter> instructions = program();
  sock_fprog filter{static_cast<unsigned short>(instructions.size()), instructions.data()};
  layer.works = ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
  layer.detail = layer.works ? fmt::format("seccomp refuses {} calls", std::size(kRefused))
                             : fmt::format("seccomp is missing: {}", std::strerror(errno));
  return layer;
}

}  // namespace kp
