#pragma once
// Child processes in their own process group, with deadlines.
#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kp {

struct ProcessOptions {
  std::vector<std::string> argv;           // argv[0] is looked up on PATH
  std::map<std::string, std::string> env;  // added to (or replacing in) this process's own
  std::vector<std::string> unset_env;      // names taken away; "A_*", "*_B" match parts
  std::string folder;                      // working folder; empty keeps ours
  std::string stderr_path;                 // appended to; empty keeps ours
  bool capture_stderr = false;             // run_process only: into ProcessOutput::err
};

struct ProcessOutput {
  int exit_code = -1;      // 128 + signal when killed by one
  bool timed_out = false;  // the whole group was killed at the deadline
  std::string out;
  std::string err;
  double seconds = 0;
  std::string how_it_ended() const;  // "exit code 1", "killed by signal 11 (SIGSEGV)", "timed out"
};

// Runs to the end with `input` on stdin. Only a program that cannot be started is an Error.
Result<ProcessOutput> run_process(const ProcessOptions& options, std::string_view input,
                                  double timeout_s);

// A child that answers line by line on its stdin and stdout (the oracle, the runner).
class LineProcess {
 public:
  static Result<LineProcess> start(const ProcessOptions& options);
  LineProcess(LineProcess&& other) noexcept;
  LineProcess& operator=(LineProcess&& other) noexcept;
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;
  ~LineProcess();  // kills the group and reaps

  enum class Read { line, timed_out, closed };
  // Both block; write_line fails when the child is gone. A line has no '\n'.
  Status write_line(std::string_view line);
  Read read_line(std::string& line, double timeout_s);

  void kill();  // SIGKILL to the whole group, then reap
  bool alive();
  std::string how_it_ended();  // as ProcessOutput's; waits for an end that is due
  pid_t pid() const { return pid_; }

 private:
  LineProcess() = default;
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  std::string buffer_;
  std::optional<int> status_;  // wait status once reaped
};

// Where `program` is on PATH; empty when nowhere.
std::string find_on_path(std::string_view program);

std::string describe_exit(int exit_code, bool timed_out);

}  // namespace kp
