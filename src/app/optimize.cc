// kernelpro optimize TASK
#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <memory>

#include "app/commands.h"
#include "app/task_options.h"
#include "app/world.h"
#include "report/run.h"
#include "report/text.h"
#include "search/loop.h"
#include "task/native.h"

namespace kp {

namespace {

struct OptimizeCommand {
  TaskOptions task;
  ProviderOptions provider;
  SearchOptions search;
  std::string runs = "runs";
  std::string resume;
  std::string start;
  std::uint64_t seed = 0;
  int directives = 4;
  bool no_wait = false;
  bool json = false;
  bool budget_given = false;
  bool no_sanitize = false;
  double sanitize_timeout_s = 60;
};

std::atomic<bool> g_stop{false};

// First Ctrl-C: end between two steps with the best so far. Second: end at once.
void on_interrupt(int) {
  if (g_stop.exchange(true)) ::_exit(kExitInterrupted);
}

int exit_of(const RunOutcome& outcome, bool any_correct) {
  switch (outcome.finished.why) {
    case FinishReason::waiting:
      return kExitWaiting;
    case FinishReason::stopped:
      return kExitInterrupted;
    case FinishReason::provider:
    case FinishReason::environment:
      return kExitError;
    default:
      return any_correct ? kExitOk : kExitNotCorrect;
  }
}

Result<RunFolder> open_folder(const OptimizeCommand& command) {
  if (!command.resume.empty()) return find_run_folder(command.runs, command.resume);
  return make_run_folder(command.runs, fs::path(command.task.task).stem().string());
}

// What to begin with: --start, or a native task's own reference.
Result<std::optional<Candidate>> starting_candidate(const OptimizeCommand& command,
                                                    const Task& task) {
  fs::path path = command.start;
  if (path.empty() && task.kind == TaskKind::native) {
    KP_ASSIGN(path, native_reference_path(task));
  }
  if (path.empty()) return std::optional<Candidate>();
  KP_ASSIGN(Candidate candidate, load_candidate(path));
  return std::optional<Candidate>(std::move(candidate));
}

// compute-sanitizer over the best kernel, into the run's folder.
Result<SanitizerReport> sanitize_best(const OptimizeCommand& command, Evaluator& evaluator,
                                      const RunFolder& folder) {
  KP_ASSIGN(Candidate best, load_candidate(folder.best()));
  BuildOptions options;
  options.arch = evaluator.device().arch();
  KP_ASSIGN(Build built, build(best, options));
  if (!command.task.quiet) show_progress("  compute-sanitizer over the best kernel ...");
  auto report =
      sanitize_candidate(evaluator, find_toolkit(), best, built, command.sanitize_timeout_s);
  clear_progress();
  if (!report) return report;
  KP_TRY(write_file(folder.path / "sanitizer.json", dump_json(to_json(*report), 2)));
  return report;
}

Result<int> run_optimize(OptimizeCommand& command) {
  KP_TRY(check_options(command.search));
  if (command.provider.kind == "mailbox" && !command.provider.folder.empty())
    KP_TRY(make_folder(command.provider.folder));
  KP_ASSIGN(RunFolder folder, open_folder(command));
  ProviderOptions provider_options = command.provider;
  provider_options.wait = !command.no_wait;
  if (provider_options.kind == "mailbox" && provider_options.folder.empty())
    provider_options.folder = folder.mailbox().string();
  KP_ASSIGN(auto provider, make_provider(provider_options));
  KP_ASSIGN(Evaluator evaluator, start_evaluator(command.task, folder.path));
  for (const auto& note : evaluator.task().notes) fmt::print(stderr, "note: {}\n", note);
  if (!command.task.quiet) show_progress("  measuring the device's ceilings ...");
  KP_ASSIGN(Ceilings ceilings, device_ceilings(evaluator.runner()));
  clear_progress();
  KP_ASSIGN(auto start, starting_candidate(command, evaluator.task()));
  GpuWorld world(std::move(evaluator), find_toolkit(), ceilings, std::move(provider),
                 command.directives, command.task.quiet);

  ::signal(SIGINT, on_interrupt);
  RunContext context{.world = world,
                     .folder = folder,
                     .options = command.search,
                     .start = std::move(start),
                     .seed = command.seed,
                     .budget = {},
                     .stop = &g_stop,
                     .clock = {}};
  if (command.budget_given) context.budget = command.search.budget;
  KP_ASSIGN(RunOutcome outcome, optimize(context));
  clear_progress();
  std::optional<SanitizerReport> sanitized;
  if (!command.no_sanitize && !g_stop && outcome.finished.why != FinishReason::waiting &&
      outcome.state.tree.best()) {
    auto report = sanitize_best(command, world.evaluator(), folder);
    if (report)
      sanitized = std::move(*report);
    else
      fmt::print(stderr, "note: compute-sanitizer was not run: {}\n", report.error().message);
  }
  if (command.json) {
    Json json = report_json(outcome.state, folder);
    if (sanitized) json["best"]["sanitizer"] = to_json(*sanitized);
    print_json(json);
  } else {
    fmt::print("{}\n", describe_run(outcome.state, folder));
    if (sanitized) fmt::print("{}\n", describe(*sanitized));
  }
  return exit_of(outcome, outcome.state.tree.best().has_value());
}

void add_provider_options(CLI::App& sub, OptimizeCommand& command) {
  ProviderOptions& p = command.provider;
  sub.add_option("--provider", p.kind, "who proposes: openai, command, mailbox or replay")
      ->check(CLI::IsMember({"openai", "command", "mailbox", "replay"}))
      ->required();
  sub.add_option("--model", p.model, "openai: the model's name");
  sub.add_option("--base-url", p.base_url, "openai: another server with the same API");
  sub.add_option("--api-key-env", p.api_key_env, "openai: the variable that holds the key")
      ->capture_default_str();
  sub.add_option("--command", p.command, "command: reads the prompt on stdin, prints the reply");
  sub.add_option("--folder", p.folder, "mailbox: where prompts and replies lie; replay: a run");
  sub.add_flag("--no-wait", command.no_wait,
               "mailbox: end (exit code 4) when only replies are missing");
  sub.add_option("--call-timeout", p.timeout_s, "seconds for one proposal")->capture_default_str();
}

void add_search_options(CLI::App& sub, OptimizeCommand& command) {
  SearchOptions& s = command.search;
  sub.add_option("--proposals-first", s.seeds, "proposals before the search begins")
      ->capture_default_str();
  sub.add_option("--iterations", s.budget.iterations, "after those")->capture_default_str();
  sub.add_option("--tokens", s.budget.tokens, "end at so many tokens; 0: no limit");
  sub.add_option("--minutes", s.budget.minutes, "end after so many minutes of work; 0: no limit");
  sub.add_option("--candidates", s.candidates, "proposals an iteration")->capture_default_str();
  sub.add_option("--exploration", s.exploration, "PUCT's constant")->capture_default_str();
  sub.add_option("--prompt-tokens", s.prompt_tokens, "largest prompt")->capture_default_str();
  sub.add_option("--directives", command.directives, "how many a prompt shows")
      ->capture_default_str();
  sub.add_option("--search-seed", command.seed, "seed of the search itself; 0: drawn");
}

}  // namespace

void add_optimize_command(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<OptimizeCommand>();
  CLI::App* sub = app.add_subcommand("optimize", "Search for a faster kernel");
  add_task_options(*sub, command->task);
  add_provider_options(*sub, *command);
  add_search_options(*sub, *command);
  sub->add_option("--start", command->start, "a candidate to start from");
  sub->add_option("--runs", command->runs, "folder of the runs")->capture_default_str();
  sub->add_option("--resume", command->resume, "go on with a run: its folder, its name, or last");
  sub->add_flag("--no-sanitize", command->no_sanitize,
                "no compute-sanitizer over the best kernel in the end");
  sub->add_option("--sanitize-timeout", command->sanitize_timeout_s, "seconds, each tool")
      ->capture_default_str();
  sub->add_flag("--json", command->json, "the report as JSON on stdout");
  sub->callback([command, sub, &exit_code] {
    for (const char* budget : {"--iterations", "--tokens", "--minutes"})
      command->budget_given = command->budget_given || sub->count(budget) > 0;
    auto done = run_optimize(*command);
    clear_progress();
    exit_code = done ? *done : report_error(done.error(), command->json);
  });
}

}  // namespace kp
