#include "verdict/sandbox.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>

#include "base/text.h"

namespace kp {
namespace {

// What every script may use. A try that must fail prints "refused", else what it got.
const char* const kHead = R"(
import ctypes, os, signal, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def attempt(what):
    try:
        print('got', what(), flush=True)
    except (OSError, MemoryError) as error:
        print('refused', type(error).__name__, error.args[0] if error.args else '', flush=True)
def call(name, *args):
    result = getattr(libc, name)(*args)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result
)";

class SandboxTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto layers = probe_sandbox(KERNELPRO_BINARY);
    ASSERT_TRUE(layers) << layers.error().text();
    layers_ = *layers;
  }
  void SetUp() override {
    for (auto* folder : {&scratch_, &outside_}) {
      auto made = TempFolder::make("kp-sandbox-test");
      ASSERT_TRUE(made);
      folder->emplace(std::move(*made));
    }
    options_.scratch = scratch_->path();
    options_.helper = KERNELPRO_BINARY;
  }
  static std::string missing(std::string_view name) {
    for (const auto& layer : layers_)
      if (layer.name == name) return layer.works ? "" : layer.detail;
    return "no such layer";
  }
  ProcessOptions process_of(const std::string& body) {
    options_.argv = {"python3", "-c", kHead + body};
    return in_sandbox(options_);
  }
  // What the script printed.
  std::vector<std::string> run(const std::string& body) {
    ProcessOptions process = process_of(body);
    process.capture_stderr = true;
    auto output = run_process(process, "", 60);
    EXPECT_TRUE(output);
    if (!output) return {};
    last_ = *output;
    auto lines = lines_of(output->out);
    std::vector<std::string> rest;
    for (std::size_t i = 1; i < lines.size(); ++i)
      if (!lines[i].empty()) rest.emplace_back(lines[i]);
    return rest;
  }
  void expect_refused(const std::vector<std::string>& lines, std::size_t count) {
    EXPECT_EQ(lines.size(), count) << last_.out << last_.err;
    for (const auto& line : lines) EXPECT_TRUE(starts_with(line, "refused")) << line;
  }

  static std::vector<SandboxLayer> layers_;
  std::optional<TempFolder> scratch_, outside_;
  SandboxOptions options_;
  ProcessOutput last_;
};
std::vector<SandboxLayer> SandboxTest::layers_;

#define NEEDS(layer) \
  if (std::string why = missing(layer); !why.empty()) GTEST_SKIP() << layer << ": " << why

TEST_F(SandboxTest, ReportsEveryLayer) {
  for (const char* name : {"network", "shared memory", "processes", "cgroup", "limits",
                           "privileges", "file access", "system calls"})
    EXPECT_NE(missing(name), "no such layer") << name;
  auto lines = run("print('hello'); sys.exit(7)");
  EXPECT_EQ(lines, std::vector<std::string>{"hello"});
  EXPECT_EQ(last_.exit_code, 7);
  lines = run("os.kill(os.getpid(), signal.SIGKILL)");
  EXPECT_EQ(last_.exit_code, 128 + 9);
}

TEST_F(SandboxTest, WritesOnlyToScratch) {
  if (!missing("read-only files").empty()) NEEDS("file access");
  std::string outside = (outside_->path() / "file").string();
  ASSERT_TRUE(write_file(outside, "mine"));
  auto lines =
      run("open(os.environ['HOME'] + '/a', 'w').write('x')\nopen('b', 'w').write('x')\n"
          "print('wrote')");
  EXPECT_EQ(lines, std::vector<std::string>{"wrote"}) << last_.err;
  lines = run("attempt(lambda: open('" + outside + "', 'w').write('x'))\n" +
              "attempt(lambda: open('" + outside + "2', 'w').write('x'))\n" +
              "attempt(lambda: os.unlink('" + outside + "'))\n" + "attempt(lambda: os.rename('" +
              outside + "', 'c'))\n" + "attempt(lambda: os.chmod('" + outside + "', 0o777))\n" +
              "attempt(lambda: os.symlink('" + outside + "', 'link') or open('link', 'a'))\n" +
              "attempt(lambda: open('/proc/sys/kernel/core_pattern', 'w'))");
  // A mode is no content: Landlock alone does not guard it.
  if (!missing("read-only files").empty() && lines.size() > 4) lines.erase(lines.begin() + 4);
  expect_refused(lines, missing("read-only files").empty() ? 7 : 6);
  EXPECT_EQ(read_file(outside).value_or(""), "mine");
  EXPECT_FALSE(fs::exists(outside + "2"));
}

TEST_F(SandboxTest, ReadsOnlyListedFolders) {
  NEEDS("file access");
  std::string secret = (outside_->path() / "secret").string();
  ASSERT_TRUE(write_file(secret, "key"));
  const std::string body = "attempt(lambda: open('" + secret + "').read())\n";
  expect_refused(run(body), 1);
  options_.readable = {outside_->path().string()};
  EXPECT_EQ(run(body), std::vector<std::string>{"got key"});
}

TEST_F(SandboxTest, ReachesNoNetwork) {
  if (!missing("system calls").empty()) NEEDS("network");
  int server = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(server, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(server, 4), 0);
  ::getsockname(server, reinterpret_cast<sockaddr*>(&address), &size);
  const std::string port = std::to_string(ntohs(address.sin_port));
  // A socket in the file system is reached past network namespaces and read-only mounts.
  int local = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::string path = (outside_->path() / "socket").string();
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  ASSERT_EQ(::bind(local, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  ASSERT_EQ(::listen(local, 4), 0);
  const std::string body = "attempt(lambda: socket.create_connection(('127.0.0.1', " + port +
                           "), 2))\nattempt(lambda: socket.socket(socket.AF_UNIX).connect('" +
                           path + "'))\n";
  auto outside = run_process({{"python3", "-c", kHead + body}, {}, {}, "", "", true}, "", 20);
  ASSERT_TRUE(outside);
  EXPECT_TRUE(starts_with(outside->out, "got <socket")) << "unconfined it connects" << outside->err;
  auto lines = run(body);
  if (!missing("system calls").empty() && lines.size() == 2) lines.pop_back();
  expect_refused(lines, missing("system calls").empty() ? 2 : 1);
  ::close(server);
  ::close(local);
}

TEST_F(SandboxTest, AForkBombIsLimited) {
  if (!missing("cgroup").empty()) NEEDS("limits");
  options_.limits.processes = 30;
  auto lines =
      run("n = 0\nwhile n < 2000:\n    try: pid = os.fork()\n    except OSError: break\n"
          "    if pid == 0: time.sleep(60); os._exit(0)\n    n += 1\nprint(n)");
  ASSERT_EQ(lines.size(), 1u) << last_.err;
  EXPECT_GT(std::atoi(lines[0].c_str()), 5);
  EXPECT_LE(std::atoi(lines[0].c_str()), 200);  // rlimits count the user's other processes too
  EXPECT_LT(last_.seconds, 30) << "those that sleep are ended with the first";
}

TEST_F(SandboxTest, MemoryIsLimited) {
  options_.limits.memory_bytes = 200 << 20;
  auto lines =
      run("print('begin', flush=True)\nattempt(lambda: len(bytearray(b'x') * (600 << 20)))");
  ASSERT_FALSE(lines.empty()) << last_.err;
  bool refused = lines.size() == 2 && starts_with(lines[1], "refused");
  EXPECT_TRUE(refused || (lines.size() == 1 && last_.exit_code == 128 + 9)) << last_.out;
}

TEST_F(SandboxTest, FileSizesAreLimited) {
  options_.limits.file_bytes = 1 << 20;
  auto lines =
      run("signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
          "attempt(lambda: open('big', 'wb', 0).write(b'x' * (1 << 20)))\n"
          "attempt(lambda: open('big', 'ab', 0).write(b'x'))");
  ASSERT_EQ(lines.size(), 2u) << last_.err;
  EXPECT_EQ(lines[0], "got 1048576");
  EXPECT_TRUE(starts_with(lines[1], "refused")) << lines[1];
}

TEST_F(SandboxTest, ReadsNoOtherProcess) {
  NEEDS("system calls");
  const std::string me = std::to_string(::getpid());
  auto lines = run("pid = " + me + R"(
child = os.fork()
if child == 0: time.sleep(60)
class Vec(ctypes.Structure): _fields_ = [('base', ctypes.c_void_p), ('size', ctypes.c_size_t)]
buffer = ctypes.create_string_buffer(8)
local, remote = Vec(ctypes.addressof(buffer), 8), Vec(ctypes.addressof(buffer), 8)
for target in (pid, child):
    attempt(lambda: call('ptrace', 16, target, 0, 0))
    attempt(lambda: call('process_vm_readv', target, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0))
    attempt(lambda: call('syscall', 438, target, 0, 0))
attempt(lambda: open(f'/proc/{pid}/mem', 'rb'))
attempt(lambda: open(f'/proc/{pid}/environ', 'rb').read())
)");
  if (!missing("processes").empty() && !missing("file access").empty() && lines.size() == 8)
    lines.resize(6);
  expect_refused(lines, lines.size() == 6 ? 6 : 8);
}

TEST_F(SandboxTest, KillsNobodyElse) {
  if (!missing("processes").empty()) NEEDS("file access");
  expect_refused(run("attempt(lambda: os.kill(" + std::to_string(::getppid()) + ", 0) or 'sent')"),
                 1);
}

TEST_F(SandboxTest, SystemCallsAreRefused) {
  NEEDS("system calls");
  const std::string numbers =
      "BPF, PERF = " + std::to_string(SYS_bpf) + ", " + std::to_string(SYS_perf_event_open);
  expect_refused(run(numbers + R"(
attempt(lambda: call('unshare', 0x10000000))
attempt(lambda: call('mount', b'none', b'/tmp', b'tmpfs', 0, None))
attempt(lambda: call('syscall', BPF, 0, 0, 0))
attempt(lambda: call('syscall', PERF, 0, 0, -1, -1, 0))
attempt(lambda: call('syscall', 425, 8, ctypes.create_string_buffer(120)))
packets = lambda: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listening = packets()
listening.bind('\0kernelpro-test')
listening.listen()
attempt(lambda: packets().connect('\0kernelpro-test'))
attempt(lambda: call('clone', None, None, 0x10000000 | 17, None))
)"),
                 7);
}

TEST_F(SandboxTest, TheEnvironmentIsAllowListed) {
  ::setenv("OPENAI_API_KEY", "sk-secret", 1);
  ::setenv("KP_TEST_TOKEN", "secret", 1);
  auto lines = run("print(sorted(os.environ))\nprint(open('/proc/self/environ').read())");
  ::unsetenv("OPENAI_API_KEY");
  ::unsetenv("KP_TEST_TOKEN");
  ASSERT_EQ(lines.size(), 2u) << last_.err;
  EXPECT_TRUE(contains(lines[0], "'PATH'"));
  EXPECT_FALSE(contains(lines[0] + lines[1], "secret"));
  EXPECT_FALSE(contains(lines[0] + lines[1], "KP_TEST"));
}

// A daemon that writes as long as it lives.
const char* const kDaemon = R"(
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            open('alive', 'a').write('.')
            time.sleep(0.01)
    os._exit(0)
while not os.path.exists('alive'): time.sleep(0.01)
print('started', flush=True)
)";

TEST_F(SandboxTest, NothingOutlivesItsParent) {
  auto process = LineProcess::start(process_of(std::string(kDaemon) + "time.sleep(60)"));
  ASSERT_TRUE(process);
  std::string line;
  while (process->read_line(line, 20) == LineProcess::Read::line && line != "started") {
  }
  EXPECT_EQ(line, "started");
  auto size = [&] { return fs::file_size(scratch_->path() / "alive"); };
  auto before = size();
  ::usleep(200'000);
  EXPECT_GT(size(), before) << "the daemon runs";
  process->kill();
  ::usleep(100'000);
  before = size();
  ::usleep(200'000);
  EXPECT_EQ(size(), before);
}

TEST_F(SandboxTest, NothingOutlivesTheCommand) {
  NEEDS("processes");
  run(kDaemon);
  ::usleep(100'000);
  auto before = fs::file_size(scratch_->path() / "alive");
  ::usleep(200'000);
  EXPECT_EQ(fs::file_size(scratch_->path() / "alive"), before);
}

TEST_F(SandboxTest, WhereNamespacesAreForbiddenTheRestIsUsed) {
  NEEDS("system calls");
  // Within the sandbox namespaces and mounts are refused, as on a host that forbids them.
  SandboxOptions inner = options_;
  inner.argv = {"python3", "-c",
                std::string(kHead) + "attempt(lambda: socket.socket())\nprint('end')"};
  options_.argv = in_sandbox(inner).argv;
  options_.readable = {fs::path(KERNELPRO_BINARY).parent_path().string()};
  auto output = run_process(in_sandbox(options_), "", 60);
  ASSERT_TRUE(output);
  auto lines = lines_of(output->out);
  ASSERT_GE(lines.size(), 4u) << output->out;
  auto layers = parse_layers(lines[1]);
  ASSERT_TRUE(layers) << layers.error().text();
  for (const auto& layer : *layers) {
    bool is_namespace = layer.name == "network" || layer.name == "processes";
    if (is_namespace) {
      EXPECT_FALSE(layer.works) << layer.name;
      EXPECT_FALSE(layer.detail.empty());
    }
    if (layer.name == "system calls" || layer.name == "privileges") {
      EXPECT_TRUE(layer.works) << layer.detail;
    }
  }
  EXPECT_TRUE(starts_with(lines[2], "refused"));
  EXPECT_EQ(lines[3], "end");
}

TEST_F(SandboxTest, WorksForAnOrdinaryUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "this is one: the other tests show it";
  if (find_on_path("setpriv").empty()) GTEST_SKIP() << "no setpriv";
  constexpr unsigned kNobody = 65534;
  ASSERT_EQ(::chown(scratch_->path().c_str(), kNobody, kNobody), 0);
  std::string outside = (outside_->path() / "file").string();
  ProcessOptions process =
      process_of("open('a', 'w').write('x')\nprint(os.getuid())\nattempt(lambda: open('" + outside +
                 "', 'w'))\nattempt(socket.socket)");
  ASSERT_EQ(::chmod(outside_->path().c_str(), 0777), 0);
  std::vector<std::string> argv = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  argv.insert(argv.end(), process.argv.begin(), process.argv.end());
  process.argv = argv;
  auto output = run_process(process, "", 60);
  ASSERT_TRUE(output);
  auto lines = lines_of(output->out);
  if (output->exit_code == 127) GTEST_SKIP() << "the program cannot be run by nobody here";
  ASSERT_GE(lines.size(), 4u) << output->out;
  EXPECT_EQ(lines[1], "65534");
  EXPECT_TRUE(starts_with(lines[2], "refused")) << lines[2];
  EXPECT_TRUE(starts_with(lines[3], "refused")) << lines[3];
}

}  // namespace
}  // namespace kp
