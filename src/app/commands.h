#pragma once
// The subcommands, one file each. Each adds itself to the command line and sets the exit code when
// run.
#include <CLI/CLI.hpp>

#include "base/json.h"
#include "base/result.h"

namespace kp {

// Exit codes, as docs/commands.md lists them.
enum Exit {
  kExitOk = 0,
  kExitError = 1,       // the environment or the user's files are at fault; stderr says what to do
  kExitUsage = 2,       // the command line is not understood
  kExitNotCorrect = 3,  // evaluate: a candidate is not correct; optimize: none is
  kExitWaiting = 4,     // optimize: proposals are missing; continue with --resume
  kExitInterrupted = 130,
};

void add_doctor_command(CLI::App& app, int& exit_code);
void add_evaluate_command(CLI::App& app, int& exit_code);
void add_profile_command(CLI::App& app, int& exit_code);
void add_optimize_command(CLI::App& app, int& exit_code);
void add_tools_command(CLI::App& app, int& exit_code);
// worker, oracle, compile: this program's own processes; hidden from the help.
void add_process_commands(CLI::App& app, int& exit_code);

// Prints an Error to stderr (and to stdout as {"error": ...} when `json`); gives kExitError.
int report_error(const Error& error, bool json);

// Prints JSON to stdout, indented.
void print_json(const Json& value);

}  // namespace kp
