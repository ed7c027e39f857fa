// kernelpro evaluate TASK CANDIDATE...
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include "app/commands.h"
#include "app/module.h"
#include "app/profiling.h"
#include "app/task_options.h"
#include "base/clock.h"
#include "report/text.h"
#include "verdict/gain.h"

namespace kp {

namespace {

struct EvaluateCommand {
  TaskOptions task;
  std::vector<std::string> candidates;
  int repeat = 1;
  bool json = false;
  bool jsonl = false;
  bool no_timing = false;
  bool sanitize = false;
  double sanitize_timeout_s = 120;
};

Json stages_json(const std::vector<std::pair<std::string, double>>& stages) {
  Json out = Json::array();
  for (const auto& [name, seconds] : stages) out.push_back({name, seconds});
  return out;
}

Json about(const Evaluator& evaluator) {
  return {{"task", evaluator.task().name},
          {"precision", name_of(evaluator.task().precision)},
          {"device", to_json(evaluator.device())},
          {"notes", evaluator.task().notes},
          {"setup", stages_json(evaluator.setup_stages())}};
}

// At once, for whoever reads along.
void print_line(const Json& json) {
  fmt::print("{}\n", dump_json(json));
  std::fflush(stdout);
}

void add_report(Json& result, const SanitizerReport& report) {
  result["sanitizer"] = to_json(report);
  result["findings"] = Json::array();
  for (const auto& finding : findings_of(report)) result["findings"].push_back(to_json(finding));
}

Result<int> run_evaluate(const EvaluateCommand& command) {
  std::vector<Candidate> candidates;
  for (const auto& path : command.candidates) {
    Candidate candidate;
    if (is_module(path)) {
      candidate.name = fs::path(path).filename().string();
    } else {
      KP_ASSIGN(candidate, load_candidate(path));
    }
    candidates.push_back(std::move(candidate));
  }
  KP_ASSIGN(Evaluator evaluator, start_evaluator(command.task, {}, !command.no_timing));
  auto count = std::count_if(command.candidates.begin(), command.candidates.end(), is_module);
  ModuleEvaluator modules(evaluator, command.task, static_cast<int>(count) * command.repeat);
  Json results = Json::array();
  if (command.jsonl) print_line(about(evaluator));
  bool all_correct = true;
  std::optional<Verdict> first;  // correct one, that the others are compared with
  std::string first_name;
  std::string gains;
  auto ahead = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    // The next builds run on the CPU while the GPU works on this one.
    for (std::size_t next = c; next < std::min(candidates.size(), c + ahead); ++next)
      if (!is_module(command.candidates[next])) evaluator.expect(candidates[next]);
    const Candidate& candidate = candidates[c];
    for (int i = 0; i < command.repeat; ++i) {
      Stopwatch watch;
      auto verdict = is_module(command.candidates[c]) ? modules.evaluate(command.candidates[c])
                                                      : evaluator.evaluate(candidate);
      clear_progress();
      if (!verdict) return tl::make_unexpected(verdict.error());
      double seconds = watch.seconds();
      all_correct = all_correct && verdict->correct();
      Json result = {
          {"candidate", candidate.name}, {"seconds", seconds}, {"verdict", to_json(*verdict)}};
      std::optional<SanitizerReport> report;
      if (command.sanitize && verdict->correct() && verdict->build) {  // modules have no build
        if (!command.task.quiet) show_progress("  compute-sanitizer ...");
        auto sanitized = sanitize_candidate(evaluator, find_toolkit(), candidate, *verdict->build,
                                            command.sanitize_timeout_s);
        clear_progress();
        if (!sanitized) return tl::make_unexpected(sanitized.error());
        report = std::move(*sanitized);
        add_report(result, *report);
      }
      if (command.jsonl) {
        print_line(result);
        continue;
      }
      results.push_back(std::move(result));
      if (!command.json) fmt::print("{}: {}\n", candidate.name, describe(*verdict, seconds));
      if (!command.json && report) fmt::print("{}\n", describe(*report));
      if (first) {
        if (auto g = gain(*first, *verdict)) {
          results.back()["gain"] = {{"over", first_name},
                                    {"ratio", g->ratio},
                                    {"ci95", {g->ci95.low, g->ci95.high}},
                                    {"real", g->real}};
          gains += fmt::format("{} against {}: {}\n", candidate.name, first_name, describe(*g));
        }
      } else if (verdict->correct() && verdict->timing) {
        first = std::move(*verdict);
        first_name = candidate.name;
      }
    }
  }
  if (!command.json && !gains.empty()) fmt::print("\n{}", gains);
  if (command.json) {
    Json all = about(evaluator);
    all["results"] = std::move(results);
    print_json(all);
  }
  return all_correct ? kExitOk : kExitNotCorrect;
}

}  // namespace

void add_evaluate_command(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<EvaluateCommand>();
  command->task.keep_gpu = true;
  CLI::App* sub = app.add_subcommand("evaluate", "Judge candidates: right, how accurate, how fast");
  add_task_options(*sub, command->task);
  sub->add_option("CANDIDATE", command->candidates,
                  ".cu files with their plans, or .py files with a ModelNew")
      ->required();
  sub->add_option("--repeat", command->repeat, "judge each candidate so many times")
      ->check(CLI::Range(1, 1000));
  auto* json = sub->add_flag("--json", command->json, "the result as JSON on stdout");
  sub->add_flag("--jsonl", command->jsonl,
                "a line of JSON for the task, then one a verdict at once")
      ->excludes(json);
  sub->add_flag("--no-timing", command->no_timing, "correctness only");
  sub->add_flag("--sanitize", command->sanitize,
                "compute-sanitizer over every correct candidate: memcheck, racecheck, initcheck, "
                "synccheck");
  sub->add_option("--sanitize-timeout", command->sanitize_timeout_s, "seconds, each tool")
      ->capture_default_str();
  sub->callback([command, &exit_code] {
    auto done = run_evaluate(*command);
    exit_code = done ? *done : report_error(done.error(), command->json || command->jsonl);
  });
}

}  // namespace kp
