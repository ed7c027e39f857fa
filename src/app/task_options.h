#pragma once
// Options that every command with a task shares, and what they mean to the stages below.
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "verdict/evaluate.h"

namespace kp {

struct TaskOptions {
  std::string task;
  std::string precision = "";  // empty: the task's own, else strict
  std::optional<double> atol, rtol;
  int seeds = 3;
  int device = 0;
  double compile_timeout_s = 120;
  double run_timeout_s = 10;
  double timing_budget_s = 0.12;
  bool energy = false;
  bool shared_gpu = false;
  bool keep_gpu = false;  // set by commands that end soon
  std::string python;
  bool force = false;
  bool quiet = false;
  bool torch_compile = false;
  std::optional<double> gpu_memory_gib;  // of the oracle
};

// `positional` is what the task is called on the command line.
void add_task_options(CLI::App& command, TaskOptions& options, const char* positional = "TASK");

// Starts the oracle and the runner; progress goes to stderr when that is a terminal.
Result<Evaluator> start_evaluator(const TaskOptions& options, const fs::path& log_folder,
                                  bool timing = true);

// One line on stderr that the next one replaces; nothing when stderr is no terminal.
void show_progress(std::string_view text);
void clear_progress();

}  // namespace kp
