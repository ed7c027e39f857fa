#pragma once
// Judges a candidate that is a PyTorch module (KernelBench's ModelNew) in its own sandboxed
// process. The oracle puts inputs into that process's memory while it is stopped, and looks at its
// outputs; every call is timed from outside and every answer is compared.
#include <deque>
#include <functional>

#include "verdict/module_process.h"

namespace kp {

struct ModuleOptions {
  ModuleProcessOptions process;
  std::vector<std::uint64_t> seeds;  // drawn already, or drawn at the first use
  std::vector<Baseline> baselines;
  double load_timeout_s = 300;  // importing, nvcc, Triton
  double run_timeout_s = 10;    // of one call; the first may compile: it has load_timeout_s
  double timing_budget_s = 2;   // wall clock of the timed calls, comparisons included
  int timed_calls = 50;
  int fresh_inputs = 4;  // timed calls on inputs that were never seen
  bool timing = true;
  std::function<void(std::string_view stage)> progress;  // may be empty
};

// An Error only when the environment fails. `path`: the candidate's .py file. `process`: one that
// was begun, and has had no candidate.
Result<Verdict> judge_module(Oracle& oracle, const ModuleOptions& options, const fs::path& path,
                             ModuleProcess process);

// Processes for so many candidates, begun a little ahead of their turns.
class ModuleProcesses {
 public:
  ModuleProcesses(ModuleProcessOptions options, int count)
      : options_(std::move(options)), left_(count) {}
  Result<ModuleProcess> next();

 private:
  ModuleProcessOptions options_;
  int left_;  // to be begun
  std::deque<ModuleProcess> begun_;
};

}  // namespace kp
