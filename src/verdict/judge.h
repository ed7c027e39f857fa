#pragma once
// One evaluation of one candidate: plan, build, runs on every draw, time. What the evaluations of a
// task share (oracle, runner, draws, baselines) is the Evaluator's.
#include <functional>
#include <vector>

#include "verdict/oracle.h"
#include "verdict/runner.h"

namespace kp {

struct EvaluateOptions {
  int seeds = 3;
  double compile_timeout_s = 120;
  double run_timeout_s = 10;      // of one run of the candidate
  double timing_budget_s = 0.12;  // of the candidate's samples, and of the baseline's as much again
  bool timing = true;
  bool energy = false;      // takes about four seconds a candidate
  bool shared_gpu = false;  // takes no lock: others may measure at the same time
  bool keep_gpu = false;    // no other kernelpro measures on this GPU before the Evaluator ends
  std::function<void(std::string_view stage)> progress;  // may be empty
};

// One set of inputs that every candidate is run on. The first is as the task draws them.
struct Trial {
  std::uint64_t seed = 0;
  Variant variant = Variant::own;  // asked for; the oracle may fall back to own
};

// What an evaluation stands on.
struct Bench {
  Oracle& oracle;
  Runner& runner;
  const DeviceInfo& device;
  const EvaluateOptions& options;
  const std::vector<Trial>& trials;
  const std::vector<Baseline>& baselines;
  bool spill = false;  // the GPU holds one trial at a time: no interleaving with the baseline
};

struct Judged {
  Verdict verdict;
  bool runner_died = false;  // with nothing said of why: perhaps not the candidate's doing
};

using BuildCandidate = std::function<Result<Build>()>;

// Error only when the environment fails.
Result<Judged> judge(const Bench& bench, const Candidate& candidate, const BuildCandidate& build);

}  // namespace kp
