// kernelpro evaluate TASK CANDIDATE...
#include <fmt/format.h>

#include <memory>

#include "app/commands.h"
#include "app/task_options.h"
#include "base/clock.h"
#include "report/text.h"

namespace kp {

namespace {

struct EvaluateCommand {
  TaskOptions task;
  std::vector<std::string> candidates;
  int repeat = 1;
  bool json = false;
  bool no_timing = false;
};

Json stages_json(const std::vector<std::pair<std::string, double>>& stages) {
  Json out = Json::array();
  for (const auto& [name, seconds] : stages) out.push_back({name, seconds});
  return out;
}

Result<int> run_evaluate(const EvaluateCommand& command) {
  std::vector<Candidate> candidates;
  for (const auto& path : command.candidates) {
    KP_ASSIGN(Candidate candidate, load_candidate(path));
    candidates.push_back(std::move(candidate));
  }
  KP_ASSIGN(Evaluator evaluator, start_evaluator(command.task, {}, !command.no_timing));
  Json results = Json::array();
  bool all_correct = true;
  for (const auto& candidate : candidates) {
    for (int i = 0; i < command.repeat; ++i) {
      Stopwatch watch;
      auto verdict = evaluator.evaluate(candidate);
      clear_progress();
      if (!verdict) return tl::make_unexpected(verdict.error());
      double seconds = watch.seconds();
      all_correct = all_correct && verdict->correct();
      results.push_back(
          {{"candidate", candidate.name}, {"seconds", seconds}, {"verdict", to_json(*verdict)}});
      if (!command.json) fmt::print("{}: {}\n", candidate.name, describe(*verdict, seconds));
    }
  }
  if (command.json) {
    print_json({{"task", evaluator.task().name},
                {"precision", name_of(evaluator.task().precision)},
                {"device", to_json(evaluator.device())},
                {"notes", evaluator.task().notes},
                {"setup", stages_json(evaluator.setup_stages())},
                {"results", results}});
  }
  return all_correct ? kExitOk : kExitNotCorrect;
}

}  // namespace

void add_evaluate_command(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<EvaluateCommand>();
  CLI::App* sub = app.add_subcommand("evaluate", "Judge candidates: right, how accurate, how fast");
  add_task_options(*sub, command->task);
  sub->add_option("CANDIDATE", command->candidates, ".cu files with their plans")->required();
  sub->add_option("--repeat", command->repeat, "judge each candidate so many times")
      ->check(CLI::Range(1, 1000));
  sub->add_flag("--json", command->json, "the result as JSON on stdout");
  sub->add_flag("--no-timing", command->no_timing, "correctness only");
  sub->callback([command, &exit_code] {
    auto done = run_evaluate(*command);
    exit_code = done ? *done : report_error(done.error(), command->json);
  });
}

}  // namespace kp
