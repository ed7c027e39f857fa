#include "app/module.h"

#include <fmt/format.h>

namespace kp {

namespace {

ModuleOptions options_of(const Evaluator& evaluator, const TaskOptions& options) {
  const EvaluateOptions& given = evaluator.options();
  ModuleOptions module;
  module.process.python = options.python;
  module.process.device = fmt::format("cuda:{}", options.device);
  for (const auto& trial : evaluator.trials()) module.seeds.push_back(trial.seed);
  module.baselines = evaluator.baselines();
  module.load_timeout_s = std::max(module.load_timeout_s, given.compile_timeout_s);
  module.run_timeout_s = given.run_timeout_s;
  module.timing = given.timing;
  module.progress = given.progress;
  return module;
}

}  // namespace

bool is_module(const fs::path& candidate) {
  return candidate.extension() == ".py";
}

ModuleEvaluator::ModuleEvaluator(Evaluator& evaluator, const TaskOptions& options, int count)
    : evaluator_(evaluator),
      options_(options_of(evaluator, options)),
      processes_(options_.process, count) {}

Result<Verdict> ModuleEvaluator::evaluate(const fs::path& path) {
  KP_ASSIGN(ModuleProcess process, processes_.next());
  return judge_module(evaluator_.oracle(), options_, path, std::move(process));
}

}  // namespace kp
