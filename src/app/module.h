#pragma once
// Candidates that are PyTorch modules, judged on the draws and beside the baselines of an
// evaluator.
#include "app/task_options.h"
#include "verdict/judge_module.h"

namespace kp {

bool is_module(const fs::path& candidate);  // a .py file

class ModuleEvaluator {
 public:
  // `count`: how many evaluations will be asked for; processes are begun ahead.
  ModuleEvaluator(Evaluator& evaluator, const TaskOptions& options, int count);
  Result<Verdict> evaluate(const fs::path& path);

 private:
  Evaluator& evaluator_;
  ModuleOptions options_;
  ModuleProcesses processes_;
};

}  // namespace kp
