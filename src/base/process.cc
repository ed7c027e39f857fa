#include "base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/clock.h"
#include "base/text.h"

extern char** environ;

namespace kp {

namespace {

struct Pipe {
  int read = -1;
  int write = -1;
};

Result<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    return fail(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  return Pipe{fds[0], fds[1]};
}

void close_fd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

std::vector<std::string> child_environment(const ProcessOptions& options) {
  std::vector<std::string> env;
  auto unset = [&](std::string_view name) {
    return std::any_of(options.unset_env.begin(), options.unset_env.end(), [&](const auto& u) {
      std::string_view pattern = u;
      if (starts_with(pattern, "*")) return ends_with(name, pattern.substr(1));
      if (ends_with(pattern, "*")) return starts_with(name, pattern.substr(0, pattern.size() - 1));
      return name == pattern;
    });
  };
  for (char** e = environ; *e != nullptr; ++e) {
    std::string_view entry = *e;
    std::string name(entry.substr(0, entry.find('=')));
    if (options.env.count(name) == 0 && !unset(name)) env.emplace_back(entry);
  }
  for (const auto& [name, value] : options.env) env.push_back(name + "=" + value);
  return env;
}

struct Spawned {
  pid_t pid = -1;
  int in = -1;
  int out = -1;
  int err = -1;
};

// fork and exec; a failed exec is reported through a close-on-exec pipe.
Result<Spawned> spawn(const ProcessOptions& options, bool want_err) {
  KP_CHECK(!options.argv.empty());
  std::string program = options.argv[0];
  if (program.find('/') == std::string::npos) {
    program = find_on_path(program);
    if (program.empty()) return fail(fmt::format("{}: no such program on PATH", options.argv[0]));
  }
  std::vector<std::string> env = child_environment(options);
  std::vector<char*> argv_c;
  std::vector<char*> env_c;
  for (const auto& a : options.argv) argv_c.push_back(const_cast<char*>(a.c_str()));
  for (const auto& e : env) env_c.push_back(const_cast<char*>(e.c_str()));
  argv_c.push_back(nullptr);
  env_c.push_back(nullptr);

  KP_ASSIGN(Pipe in, make_pipe());
  KP_ASSIGN(Pipe out, make_pipe());
  Pipe err;
  if (want_err) {
    KP_ASSIGN(err, make_pipe());
  }
  KP_ASSIGN(Pipe trouble, make_pipe());
  pid_t parent = ::getpid();
  pid_t pid = ::fork();
  if (pid < 0) return fail(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (pid == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no orphan outlives us
    if (::getppid() != parent) ::_exit(127);
    ::dup2(in.read, 0);
    ::dup2(out.write, 1);
    if (want_err) {
      ::dup2(err.write, 2);
    } else if (!options.stderr_path.empty()) {
      int fd = ::open(options.stderr_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
      if (fd >= 0) ::dup2(fd, 2);
    }
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    if (options.folder.empty() || ::chdir(options.folder.c_str()) == 0)
      ::execve(program.c_str(), argv_c.data(), env_c.data());
    int e = errno;
    [[maybe_unused]] auto n = ::write(trouble.write, &e, sizeof e);
    ::_exit(127);
  }
  ::setpgid(pid, pid);
  ::close(in.read);
  ::close(out.write);
  close_fd(err.write);
  ::close(trouble.write);
  int child_errno = 0;
  ssize_t got = 0;
  do {
    got = ::read(trouble.read, &child_errno, sizeof child_errno);
  } while (got < 0 && errno == EINTR);
  ::close(trouble.read);
  if (got > 0) {
    ::waitpid(pid, nullptr, 0);
    ::close(in.write);
    ::close(out.read);
    close_fd(err.read);
    return fail(fmt::format("{}: cannot be started: {}", program, std::strerror(child_errno)));
  }
  return Spawned{pid, in.write, out.read, err.read};
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void ignore_sigpipe() {
  struct sigaction current {};
  ::sigaction(SIGPIPE, nullptr, &current);
  if (current.sa_handler == SIG_DFL) ::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

std::string describe_exit(int exit_code, bool timed_out) {
  if (timed_out) return "timed out";
  if (exit_code > 128) {
    const char* name = ::strsignal(exit_code - 128);
    return fmt::format("killed by signal {} ({})", exit_code - 128, name ? name : "?");
  }
  return fmt::format("exit code {}", exit_code);
}

std::string ProcessOutput::how_it_ended() const {
  return describe_exit(exit_code, timed_out);
}

Result<ProcessOutput> run_process(const ProcessOptions& options, std::string_view input,
                                  double timeout_s) {
  ignore_sigpipe();
  Stopwatch watch;
  KP_ASSIGN(Spawned child, spawn(options, options.capture_stderr));
  ::fcntl(child.in, F_SETFL, O_NONBLOCK);
  ProcessOutput result;
  std::size_t written = 0;
  if (input.empty()) close_fd(child.in);
  char chunk[65536];
  while (child.out >= 0 || child.err >= 0) {
    double left = timeout_s - watch.seconds();
    if (left <= 0) {
      result.timed_out = true;
      break;
    }
    pollfd fds[3] = {{child.out, POLLIN, 0}, {child.err, POLLIN, 0}, {child.in, POLLOUT, 0}};
    int rc = ::poll(fds, 3, static_cast<int>(std::min(left, 3600.0) * 1000) + 1);
    if (rc < 0 && errno != EINTR) break;
    if (rc <= 0) continue;
    auto drain = [&](const pollfd& p, int& fd, std::string& text) {
      if (fd < 0 || (p.revents & (POLLIN | POLLHUP | POLLERR)) == 0) return;
      ssize_t n = ::read(fd, chunk, sizeof chunk);
      if (n > 0) text.append(chunk, static_cast<std::size_t>(n));
      if (n == 0 || (n < 0 && errno != EINTR)) close_fd(fd);
    };
    drain(fds[0], child.out, result.out);
    drain(fds[1], child.err, result.err);
    if (child.in >= 0 && fds[2].revents != 0) {
      ssize_t n = ::write(child.in, input.data() + written, input.size() - written);
      if (n > 0) written += static_cast<std::size_t>(n);
      if (written == input.size() || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_fd(child.in);
    }
  }
  close_fd(child.in);
  int status = 0;
  while (!result.timed_out) {  // output closed, but perhaps still running
    pid_t got = ::waitpid(child.pid, &status, WNOHANG);
    if (got == child.pid || (got < 0 && errno != EINTR)) break;
    if (watch.seconds() > timeout_s) result.timed_out = true;
    ::usleep(500);
  }
  ::kill(-child.pid, SIGKILL);  // grandchildren too
  if (result.timed_out) ::waitpid(child.pid, &status, 0);
  close_fd(child.out);
  close_fd(child.err);
  result.exit_code = exit_code_of(status);
  result.seconds = watch.seconds();
  return result;
}

Result<LineProcess> LineProcess::start(const ProcessOptions& options) {
  ignore_sigpipe();
  KP_ASSIGN(Spawned child, spawn(options, false));
  LineProcess p;
  p.pid_ = child.pid;
  p.in_ = child.in;
  p.out_ = child.out;
  return p;
}

LineProcess::LineProcess(LineProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      in_(std::exchange(other.in_, -1)),
      out_(std::exchange(other.out_, -1)),
      buffer_(std::move(other.buffer_)),
      status_(std::exchange(other.status_, std::nullopt)) {}

LineProcess& LineProcess::operator=(LineProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(in_, other.in_);
  std::swap(out_, other.out_);
  std::swap(buffer_, other.buffer_);
  std::swap(status_, other.status_);
  return *this;
}

LineProcess::~LineProcess() {
  if (pid_ > 0) kill();
  close_fd(in_);
  close_fd(out_);
}

Status LineProcess::write_line(std::string_view line) {
  std::string text(line);
  text.push_back('\n');
  std::size_t done = 0;
  while (done < text.size()) {
    ssize_t n = ::write(in_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(fmt::format("the process has gone ({})", how_it_ended()));
    done += static_cast<std::size_t>(n);
  }
  return {};
}

LineProcess::Read LineProcess::read_line(std::string& line, double timeout_s) {
  Stopwatch watch;
  std::size_t searched = 0;
  while (true) {
    std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return Read::line;
    }
    searched = buffer_.size();
    double left = timeout_s - watch.seconds();
    if (left <= 0) return Read::timed_out;
    pollfd fd{out_, POLLIN, 0};
    int rc = ::poll(&fd, 1, static_cast<int>(std::min(left, 3600.0) * 1000) + 1);
    if (rc < 0 && errno != EINTR) return Read::closed;
    if (rc <= 0) continue;
    char chunk[65536];
    ssize_t n = ::read(out_, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Read::closed;
    buffer_.append(chunk, static_cast<std::size_t>(n));
  }
}

void LineProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  if (!status_) {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    status_ = status;
  }
}

bool LineProcess::alive() {
  if (pid_ <= 0 || status_) return false;
  int status = 0;
  pid_t got = ::waitpid(pid_, &status, WNOHANG);
  if (got == 0) return true;
  if (got == pid_) status_ = status;
  return false;
}

std::string LineProcess::how_it_ended() {
  for (int i = 0; i < 200 && alive(); ++i) ::usleep(5000);
  if (!status_) return "still running";
  return describe_exit(exit_code_of(*status_), false);
}

std::string find_on_path(std::string_view program) {
  const char* path = std::getenv("PATH");
  for (std::string_view folder : split(path ? path : "/usr/bin:/bin", ':')) {
    std::string candidate = std::string(folder.empty() ? "." : folder) + "/" + std::string(program);
    std::error_code ec;
    if (::access(candidate.c_str(), X_OK) == 0 && !std::filesystem::is_directory(candidate, ec))
      return candidate;
  }
  return "";
}

}  // namespace kp
