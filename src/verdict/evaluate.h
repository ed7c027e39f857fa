#pragma once
// Judges one candidate: plan, build, correctness on several secret seeds, time, speed-up.
#include <functional>
#include <string>

#include "verdict/oracle.h"
#include "verdict/runner.h"

namespace kp {

struct EvaluateOptions {
  int seeds = 3;
  double compile_timeout_s = 120;
  double run_timeout_s = 10;      // of one run of the candidate
  double timing_budget_s = 0.25;  // of timing, each way
  bool timing = true;
  std::function<void(std::string_view stage)> progress;  // may be empty
};

// Keeps what candidates of one task share: the oracle with its seeds, the warm runner, baselines.
class Evaluator {
 public:
  static Result<Evaluator> start(const fs::path& task, const OracleOptions& oracle,
                                 const RunnerOptions& runner, const EvaluateOptions& options);

  const Task& task() const { return oracle_.task(); }
  const DeviceInfo& device() const { return device_; }
  // Error only when the environment fails; what the candidate does wrong is in the Verdict.
  Result<Verdict> evaluate(const Candidate& candidate);
  // Stages of what is done once per task: load, draw, truth, baselines.
  const std::vector<std::pair<std::string, double>>& setup_stages() const { return setup_; }
  int device_index() const { return runner_.device_index(); }
  Oracle& oracle() { return oracle_; }
  Runner& runner() { return runner_; }
  // The draw that profiling runs on (the first seed's).
  const Draw& profiling_draw() const { return draws_.front(); }

 private:
  Evaluator(Oracle oracle, Runner runner, EvaluateOptions options)
      : oracle_(std::move(oracle)), runner_(std::move(runner)), options_(std::move(options)) {}

  static constexpr double kCopyTimeout = 60;  // of copies and module loads, which run no candidate

  Status prepare();
  Result<RunnerAnswer> place_inputs(std::size_t seed);

  Oracle oracle_;
  Runner runner_;
  EvaluateOptions options_;
  DeviceInfo device_;
  std::vector<std::uint64_t> seeds_;
  std::vector<Draw> draws_;
  int placed_ = -1;    // which seed's inputs the runner holds
  int placed_in_ = 0;  // and in which life of it
  std::vector<Baseline> baselines_;
  std::vector<std::pair<std::string, double>> setup_;
};

}  // namespace kp
