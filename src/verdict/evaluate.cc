#include "verdict/evaluate.h"

#include <fmt/format.h>

#include <array>

#include "base/clock.h"
#include "base/rng.h"

namespace kp {

namespace {

Verdict fault(Verdict verdict, Outcome outcome, std::string reason, std::string detail = "") {
  verdict.outcome = outcome;
  verdict.reason = std::move(reason);
  verdict.detail = std::move(detail);
  verdict.accuracy_class.clear();
  return verdict;
}

Outcome outcome_of(RunnerAnswer::Kind kind) {
  switch (kind) {
    case RunnerAnswer::Kind::plan_error:
      return Outcome::plan_error;
    case RunnerAnswer::Kind::crashed:
      return Outcome::crashed;
    case RunnerAnswer::Kind::timed_out:
      return Outcome::timed_out;
    case RunnerAnswer::Kind::out_of_memory:
      return Outcome::out_of_memory;
    case RunnerAnswer::Kind::ok:
      break;
  }
  return Outcome::correct;
}

// Adds the time since the last call to the verdict's stage of that name.
class Stages {
 public:
  Stages(Verdict& verdict, const std::function<void(std::string_view)>& progress)
      : verdict_(verdict), progress_(progress) {}

  void begin(std::string_view name) {
    end();
    name_ = name;
    if (progress_) progress_(name);
    watch_ = Stopwatch();
  }

  void end() {
    if (name_.empty()) return;
    for (auto& [stage, seconds] : verdict_.stages)
      if (stage == name_) {
        seconds += watch_.seconds();
        name_.clear();
        return;
      }
    verdict_.stages.emplace_back(name_, watch_.seconds());
    name_.clear();
  }

 private:
  Verdict& verdict_;
  const std::function<void(std::string_view)>& progress_;
  std::string name_;
  Stopwatch watch_;
};

// Keeps the worst of each output over the seeds.
void merge_leaves(std::vector<LeafError>& into, const std::vector<LeafError>& leaves) {
  for (const auto& leaf : leaves) {
    auto it = std::find_if(into.begin(), into.end(),
                           [&](const LeafError& known) { return known.tensor == leaf.tensor; });
    if (it == into.end()) {
      into.push_back(leaf);
    } else if ((it->ok && !leaf.ok) || (it->ok == leaf.ok && leaf.rel_l2 > it->rel_l2)) {
      *it = leaf;
    }
  }
}

// From the most exact class to the least.
int class_rank(std::string_view name) {
  if (name == "exact") return 0;
  if (name == "fp32-equivalent") return 1;
  return name == "tf32" ? 2 : 3;
}

}  // namespace

Result<Evaluator> Evaluator::start(const fs::path& task, const OracleOptions& oracle_options,
                                   const RunnerOptions& runner_options,
                                   const EvaluateOptions& options) {
  Stopwatch watch;
  Runner runner(runner_options);
  if (options.progress) options.progress("start runner");
  KP_ASSIGN(DeviceInfo device, runner.device());
  std::vector<std::pair<std::string, double>> setup = {{"start runner", watch.seconds()}};
  if (options.progress) options.progress("start oracle");
  watch = Stopwatch();
  KP_ASSIGN(Oracle oracle, Oracle::start(task, oracle_options));
  setup.emplace_back("start oracle", watch.seconds());
  for (const auto& [stage, s] : oracle.last_stages()) setup.emplace_back("  oracle " + stage, s);
  Evaluator evaluator(std::move(oracle), std::move(runner), options);
  evaluator.device_ = std::move(device);
  for (int i = 0; i < std::max(1, options.seeds); ++i) evaluator.seeds_.push_back(secret_seed());
  evaluator.setup_ = std::move(setup);
  KP_TRY(evaluator.prepare());
  return evaluator;
}

Status Evaluator::prepare() {
  for (std::size_t i = 0; i < seeds_.size(); ++i) {
    if (options_.progress) options_.progress(fmt::format("truth of seed {}", i + 1));
    Stopwatch watch;
    constexpr std::array<Variant, 3> kVariants = {Variant::own, Variant::signs, Variant::scaled};
    KP_ASSIGN(Draw draw, oracle_.draw(seeds_[i], kVariants[i % kVariants.size()]));
    draws_.push_back(std::move(draw));
    setup_.emplace_back(fmt::format("seed {}", i + 1), watch.seconds());
    for (const auto& [stage, s] : oracle_.last_stages())
      setup_.emplace_back("  oracle " + stage, s);
  }
  KP_TRY(oracle_.check_fitness());
  if (!options_.timing) return {};
  if (options_.progress) options_.progress("time baselines");
  Stopwatch watch;
  KP_ASSIGN(baselines_, oracle_.time_baselines(seeds_[0], options_.timing_budget_s));
  setup_.emplace_back("time baselines", watch.seconds());
  return {};
}

Result<RunnerAnswer> Evaluator::place_inputs(std::size_t seed) {
  if (placed_ == static_cast<int>(seed) && placed_in_ == runner_.restarts()) return RunnerAnswer{};
  KP_ASSIGN(RunnerAnswer answer, runner_.set_inputs(draws_[seed], kCopyTimeout));
  placed_ = answer.kind == RunnerAnswer::Kind::ok ? static_cast<int>(seed) : -1;
  placed_in_ = runner_.restarts();
  return answer;
}

Result<Verdict> Evaluator::evaluate(const Candidate& candidate) {
  Verdict verdict;
  verdict.baselines = baselines_;
  Stages stages(verdict, options_.progress);
  stages.begin("plan");
  auto plan = resolve(candidate.plan, task());
  stages.end();
  if (!plan)
    return fault(std::move(verdict), Outcome::plan_error, plan.error().message, plan.error().hint);

  stages.begin("build");
  BuildOptions build_options;
  build_options.arch = device_.arch();
  build_options.timeout_s = options_.compile_timeout_s;
  KP_ASSIGN(Build built, build(candidate, build_options));
  stages.end();
  verdict.build = built;
  if (built.timed_out)
    return fault(std::move(verdict), Outcome::timed_out,
                 fmt::format("compilation did not end in {:.0f} s", options_.compile_timeout_s));
  if (!built.ok)
    return fault(std::move(verdict), Outcome::compile_error, "does not compile",
                 describe_diagnostics(built, 10));
  std::vector<KernelParams> kernels;
  for (const auto& k : built.kernels) kernels.push_back(k.params);
  if (auto fits = check_plan(*plan, kernels, device_.limits); !fits)
    return fault(std::move(verdict), Outcome::plan_error, fits.error().message, fits.error().hint);

  // A crash loses the runner with its inputs; it comes back with the next candidate.
  auto broke = [&](const RunnerAnswer& answer, std::string_view doing) {
    stages.end();
    placed_ = -1;
    std::string reason =
        answer.kind == RunnerAnswer::Kind::timed_out
            ? fmt::format("{}: the kernel did not end in {:.0f} s", doing, options_.run_timeout_s)
            : fmt::format("{}: {}", doing, answer.reason);
    return fault(verdict, outcome_of(answer.kind), std::move(reason));
  };
  // Begin with the seed that lies on the device already.
  std::size_t first = placed_ > 0 ? static_cast<std::size_t>(placed_) : 0;
  for (std::size_t k = 0; k < seeds_.size(); ++k) {
    std::size_t seed = (first + k) % seeds_.size();
    stages.begin("inputs");
    KP_ASSIGN(RunnerAnswer placed, place_inputs(seed));
    if (placed.kind != RunnerAnswer::Kind::ok) return broke(placed, "copying the inputs");
    stages.begin("load");
    KP_ASSIGN(RunnerAnswer loaded, runner_.load(task(), built, *plan, kCopyTimeout));
    if (loaded.kind != RunnerAnswer::Kind::ok) return broke(loaded, "loading");
    stages.begin("run");
    KP_ASSIGN(RunnerAnswer ran, runner_.run_once(options_.run_timeout_s));
    if (ran.kind != RunnerAnswer::Kind::ok) return broke(ran, "running");
    stages.begin("compare");
    const Json changed = ran.body.value("inputs_changed", Json::array());
    if (!changed.empty()) {
      placed_ = -1;
      stages.end();
      return fault(std::move(verdict), Outcome::incorrect,
                   "writes to the input " + changed[0].get<std::string>(),
                   "Inputs and parameters must keep their values; write to outputs and buffers.");
    }
    std::vector<SharedTensor> outputs;
    for (const auto& entry : ran.body.value("outputs", Json::array())) {
      KP_ASSIGN(SharedTensor tensor, shared_tensor_from_json(entry));
      outputs.push_back(std::move(tensor));
    }
    KP_ASSIGN(Comparison comparison, oracle_.compare(seeds_[seed], outputs));
    merge_leaves(verdict.leaves, comparison.leaves);
    if (!comparison.ok) {
      stages.end();
      std::string reason = "wrong output";
      for (const auto& leaf : comparison.leaves)
        if (!leaf.ok) reason = leaf.reason;
      return fault(std::move(verdict), Outcome::incorrect, std::move(reason));
    }
    ++verdict.seeds;
    if (class_rank(comparison.accuracy_class) >= class_rank(verdict.accuracy_class) ||
        verdict.accuracy_class.empty())
      verdict.accuracy_class = comparison.accuracy_class;
  }
  if (options_.timing) {
    stages.begin("time");
    KP_ASSIGN(RunnerAnswer timed,
              runner_.time(options_.timing_budget_s,
                           options_.run_timeout_s + 4 * options_.timing_budget_s));
    if (timed.kind != RunnerAnswer::Kind::ok) return broke(timed, "timing");
    for (const auto& entry : timed.body.value("timings", Json::array()))
      verdict.timings.push_back(timing_from_json(entry));
    for (const auto& timing : verdict.timings)
      if (!verdict.timing || timing.median_ms < verdict.timing->median_ms) verdict.timing = timing;
  }
  stages.end();
  return verdict;
}

}  // namespace kp
