#pragma once
// Judges the candidates of one task, one after another; the builds of those to come run meanwhile.
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/files.h"
#include "verdict/judge.h"

namespace kp {

// Keeps what candidates of one task share: the oracle with its draws, the warm runner, baselines.
// Either process may end at any time; it is started again and the evaluation is done once more.
class Evaluator {
 public:
  static Result<Evaluator> start(const fs::path& task, const OracleOptions& oracle,
                                 const RunnerOptions& runner, const EvaluateOptions& options);

  const Task& task() const { return oracle_.task(); }
  const DeviceInfo& device() const { return device_; }
  // Starts a candidate's build on another thread; evaluate() takes it from there.
  void expect(const Candidate& candidate);
  // Error only when the environment fails; what the candidate does wrong is in the Verdict.
  Result<Verdict> evaluate(const Candidate& candidate);
  // The GPU for this program alone while the result lives; evaluate() takes it itself.
  std::unique_ptr<FileLock> take_turn() const;
  // Stages of what is done once per task: load, draw, truth, baselines.
  const std::vector<std::pair<std::string, double>>& setup_stages() const { return setup_; }
  int device_index() const { return runner_.device_index(); }
  Oracle& oracle() { return oracle_; }
  Runner& runner() { return runner_; }
  const std::vector<Trial>& trials() const { return trials_; }
  const std::vector<Baseline>& baselines() const { return baselines_; }
  const EvaluateOptions& options() const { return options_; }
  // The draw that profiling runs on: the task's own numbers, on the GPU now.
  Result<Draw> profiling_draw() {
    return oracle_.draw(trials_.front().seed, trials_.front().variant, spill_);
  }

 private:
  Evaluator(fs::path task, OracleOptions oracle_options, Oracle oracle, Runner runner,
            EvaluateOptions options)
      : task_path_(std::move(task)),
        oracle_options_(std::move(oracle_options)),
        oracle_(std::move(oracle)),
        runner_(std::move(runner)),
        options_(std::move(options)) {}

  Status prepare();
  Status brief_oracle();
  Status draw_all();
  Status revive();
  Result<Build> finish_build(const Candidate& candidate);
  BuildOptions build_options() const;

  std::unique_ptr<FileLock> held_;  // of the GPU, to the end; first, for the processes go before it
  fs::path task_path_;
  OracleOptions oracle_options_;
  Oracle oracle_;
  Runner runner_;
  EvaluateOptions options_;
  DeviceInfo device_;
  std::vector<Trial> trials_;
  bool spill_ = false;  // the draws do not fit on the GPU together
  std::vector<Baseline> baselines_;
  std::vector<std::pair<std::string, double>> setup_;
  std::map<std::string, std::future<Result<Build>>> builds_;  // by source
};

}  // namespace kp
