#pragma once
// The process of a PyTorch module: assets/module/runner.py in the sandbox. Nothing that it says is
// believed once a candidate is loaded; what counts is when it says it, and its outputs' memory.
#include <memory>
#include <string>
#include <vector>

#include "base/process.h"
#include "verdict/oracle.h"
#include "verdict/sandbox.h"
#include "verdict/verdict.h"

namespace kp {

struct ModuleProcessOptions {
  std::string python;
  std::string device = "cuda:0";
  SandboxLimits limits;
  fs::path helper;  // the program with the sandbox command; empty: this one
  std::string log_path;
  double start_timeout_s = 120;
};

struct ModuleAnswer {
  Outcome outcome = Outcome::correct;  // correct: it answered
  std::string reason, detail;
  Json body;
  double wall_s = 0;  // from the request to the answer
};

class ModuleProcess {
 public:
  // Begun, it imports PyTorch and leaves the GPU alone: the next one may start while this one is
  // judged. (Not on another thread: a child ends with the thread that made it.)
  static Result<ModuleProcess> begin(const ModuleProcessOptions& options);
  Status await_ready();

  // Each request carries a secret number that the answer must repeat; a line that nobody asked for
  // is a forgery. An Error only when `trusted` and the environment fails.
  Result<ModuleAnswer> ask(Json request, double timeout_s, bool trusted = false);
  // Stopped, no thread of it can look at its inputs before the request.
  void pause();
  void resume();
  void stop();

  const fs::path& scratch() const { return scratch_->path(); }
  const std::vector<SandboxLayer>& layers() const { return layers_; }
  std::string log_tail() const;

 private:
  ModuleProcess() = default;
  std::optional<TempFolder> scratch_;
  std::optional<TempFolder> log_folder_;
  std::string log_path_;
  double start_timeout_s_ = 0;
  std::unique_ptr<LineProcess> process_;
  std::vector<SandboxLayer> layers_;
};

}  // namespace kp
