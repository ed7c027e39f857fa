#include "app/task_options.h"

#include <fmt/format.h>
#include <unistd.h>

namespace kp {

void add_task_options(CLI::App& command, TaskOptions& o, const char* positional) {
  command.add_option(positional, o.task, "KernelBench-format .py, or native .toml")->required();
  command
      .add_option("--precision", o.precision,
                  "strict (as exact as eager), tf32 or half: what the error is compared with")
      ->check(CLI::IsMember({"strict", "tf32", "half"}));
  command.add_option("--atol", o.atol, "absolute tolerance, in place of the accuracy rule");
  command.add_option("--rtol", o.rtol, "relative tolerance, in place of the accuracy rule");
  command.add_option("--seeds", o.seeds, "secret seeds that a candidate must pass")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command.add_option("--device", o.device, "CUDA device index")->capture_default_str();
  command.add_option("--compile-timeout", o.compile_timeout_s, "seconds")->capture_default_str();
  command.add_option("--run-timeout", o.run_timeout_s, "seconds a candidate may run")
      ->capture_default_str();
  command
      .add_option("--timing-budget", o.timing_budget_s,
                  "seconds of timing: of the candidate, and as much of the baseline")
      ->capture_default_str();
  command.add_flag(
      "--energy", o.energy,
      "joules a call too, by the device's own counter; takes some seconds a candidate");
  command.add_option("--python", o.python, "python3 that has PyTorch (default: found)");
  command.add_flag("--force", o.force, "take a task that is judged unfit; the result says so");
  command.add_flag("--torch-compile", o.torch_compile, "time torch.compile as a baseline too");
  command
      .add_option("--gpu-memory", o.gpu_memory_gib,
                  "GiB that the oracle may take of the GPU (default: all that is free)")
      ->check(CLI::PositiveNumber);
  command.add_flag("-q,--quiet", o.quiet, "no progress lines");
}

void show_progress(std::string_view text) {
  if (::isatty(2) == 0) return;
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
}

void clear_progress() {
  if (::isatty(2) == 0) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

Result<Evaluator> start_evaluator(const TaskOptions& o, const fs::path& log_folder, bool timing) {
  OracleOptions oracle;
  oracle.python = o.python;
  oracle.device = fmt::format("cuda:{}", o.device);
  oracle.force = o.force;
  oracle.compile_baseline = o.torch_compile;
  oracle.gpu_memory_gib = o.gpu_memory_gib;
  if (!o.precision.empty()) {
    KP_ASSIGN(oracle.precision, parse_precision(o.precision));
  }
  if (o.atol || o.rtol) oracle.tolerance = Tolerance{o.atol.value_or(0), o.rtol.value_or(0)};
  RunnerOptions runner;
  runner.device = o.device;
  if (!log_folder.empty()) {
    KP_TRY(make_folder(log_folder));
    oracle.log_path = (log_folder / "oracle.log").string();
    runner.log_path = (log_folder / "runner.log").string();
  }
  EvaluateOptions evaluate;
  evaluate.seeds = o.seeds;
  evaluate.compile_timeout_s = o.compile_timeout_s;
  evaluate.run_timeout_s = o.run_timeout_s;
  evaluate.timing_budget_s = o.timing_budget_s;
  evaluate.timing = timing;
  evaluate.energy = o.energy;
  evaluate.keep_gpu = o.keep_gpu;
  evaluate.shared_gpu = o.shared_gpu;
  if (!o.quiet)
    evaluate.progress = [](std::string_view stage) {
      show_progress(fmt::format("  {} ...", stage));
    };
  auto evaluator = Evaluator::start(o.task, oracle, runner, evaluate);
  clear_progress();
  return evaluator;
}

}  // namespace kp
