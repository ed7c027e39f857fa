#include "verdict/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "build/cubin.h"
#include "verdict/guarded.h"
#include "verdict/time_candidate.h"

namespace kp {

namespace {

constexpr double kCopyTimeout = 60;  // s, of copies and module loads, which run no candidate

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
    if (!name_.empty()) add(name_, watch_.seconds());
    name_.clear();
  }

  // A part of another stage has a name that begins with spaces.
  void add(const std::string& name, double seconds) {
    for (auto& [stage, sum] : verdict_.stages)
      if (stage == name) {
        sum += seconds;
        return;
      }
    verdict_.stages.emplace_back(name, seconds);
  }

 private:
  Verdict& verdict_;
  const std::function<void(std::string_view)>& progress_;
  std::string name_;
  Stopwatch watch_;
};

std::string of_variant(Variant variant) {
  return variant == Variant::own ? ""
                                 : fmt::format(" (on inputs of the draw \"{}\")", name_of(variant));
}

std::vector<std::string> names_in(const Json& body, const char* key) {
  std::vector<std::string> names;
  for (const auto& entry : body.value(key, Json::array()))
    if (entry.is_string()) names.push_back(entry.get<std::string>());
  return names;
}

class Judging {
 public:
  Judging(const Bench& bench, const Candidate& candidate)
      : bench_(bench), candidate_(candidate), stages_(judged_.verdict, bench.options.progress) {
    verdict().baselines = bench.baselines;
  }

  Result<Judged> go(const BuildCandidate& build) {
    KP_ASSIGN(bool fits, prepare(build));
    if (fits) {
      KP_ASSIGN(bool right, verify());
      if (right && bench_.options.timing) {
        stages_.begin("time");
        KP_TRY(time());
      }
    }
    stages_.end();
    if (!verdict().correct()) verdict().accuracy_class.clear();
    return std::move(judged_);
  }

 private:
  Verdict& verdict() { return judged_.verdict; }
  const Task& task() const { return bench_.oracle.task(); }

  bool fault(Outcome outcome, std::string reason, std::string detail = "") {
    verdict().outcome = outcome;
    verdict().reason = std::move(reason);
    verdict().detail = std::move(detail);
    return false;
  }

  // A crash loses the runner with its inputs; it comes back with the next request.
  bool broke(const RunnerAnswer& answer, std::string_view doing) {
    judged_.runner_died = answer.died;
    return fault(outcome_of(answer.kind),
                 answer.kind == RunnerAnswer::Kind::timed_out
                     ? fmt::format("{}: the kernel did not end in {:.3g} s", doing,
                                   bench_.options.run_timeout_s)
                     : fmt::format("{}: {}", doing, answer.reason));
  }

  Result<bool> prepare(const BuildCandidate& build) {
    stages_.begin("plan");
    auto plan = resolve(candidate_.plan, task());
    if (!plan) return fault(Outcome::plan_error, plan.error().message, plan.error().hint);
    plan_ = std::move(*plan);
    stages_.begin("build");
    KP_ASSIGN(Build built, build());
    verdict().build = built;
    if (built.timed_out)
      return fault(Outcome::timed_out, fmt::format("compilation did not end in {:.0f} s",
                                                   bench_.options.compile_timeout_s));
    if (!built.ok)
      return fault(Outcome::compile_error, "does not compile", describe_diagnostics(built, 10));
    std::vector<KernelParams> kernels;
    for (const auto& k : built.kernels) kernels.push_back(k.params);
    if (auto checked = check_plan(plan_, kernels, bench_.device.limits); !checked)
      return fault(Outcome::plan_error, checked.error().message, checked.error().hint);
    KP_ASSIGN(std::string cubin, read_file(built.cubin));
    KP_ASSIGN(CubinState state, parse_cubin_state(cubin));
    if (state.heap)
      return fault(Outcome::plan_error, "device code calls malloc or free",
                   "What the device's heap holds outlives a launch. Take a buffer of the plan.");
    for (const auto& k : built.kernels)
      if (k.stack_bytes > GuardedMemory::kMaxLocal)
        return fault(
            Outcome::plan_error,
            fmt::format("{} takes {} bytes of local memory a thread; at most {} are allowed",
                        k.params.kernel, k.stack_bytes, GuardedMemory::kMaxLocal),
            "Take a buffer of the plan, or shared memory.");
    return true;
  }

  Result<bool> place(const Trial& trial) {
    stages_.begin("inputs");
    // Free unless the oracle had to give the memory of this draw to another.
    KP_ASSIGN(Draw draw, bench_.oracle.draw(trial.seed, trial.variant, bench_.spill));
    KP_ASSIGN(RunnerAnswer placed, bench_.runner.set_inputs(draw, kCopyTimeout));
    if (placed.kind != RunnerAnswer::Kind::ok) return broke(placed, "copying the inputs");
    return true;
  }

  Result<bool> load() {
    stages_.begin("load");
    KP_ASSIGN(RunnerAnswer loaded,
              bench_.runner.load(task(), *verdict().build, plan_, kCopyTimeout));
    if (loaded.kind != RunnerAnswer::Kind::ok) return broke(loaded, "loading");
    return true;
  }

  // False, with the fault, when a run left something that it must not touch.
  bool clean(const Json& body) {
    if (auto changed = names_in(body, "inputs_changed"); !changed.empty())
      return fault(Outcome::incorrect, "writes to the input " + changed[0],
                   "Inputs and parameters must keep their values; write to outputs and buffers.");
    if (auto broken = names_in(body, "guards_broken"); !broken.empty())
      return fault(
          Outcome::incorrect, "writes outside " + broken[0],
          fmt::format("Changed: {}. Each tensor and buffer has just the bytes that the task "
                      "and the plan say.",
                      join(broken, ", ")));
    return true;
  }

  Result<Comparison> compare(const Trial& trial, const Json& body) {
    stages_.begin("compare");
    std::vector<SharedTensor> outputs;
    for (const auto& entry : body.value("outputs", Json::array())) {
      KP_ASSIGN(SharedTensor tensor, shared_tensor_from_json(entry));
      outputs.push_back(std::move(tensor));
    }
    for (const auto& t : task().tensors) {
      bool there = t.role != Role::output ||
                   std::any_of(outputs.begin(), outputs.end(),
                               [&](const SharedTensor& o) { return o.name == t.name; });
      if (!there) return fail("runner: its answer lacks the output " + t.name);
    }
    auto comparison = bench_.oracle.compare(trial.seed, outputs, bench_.runner.memory());
    for (const auto& [part, seconds] : bench_.oracle.last_stages())
      stages_.add("  oracle " + part, seconds);
    return comparison;
  }

  struct Ran {
    bool ok = false;  // it ran and left all else alone
    Comparison comparison;
  };
  Result<Ran> run(const Trial& trial, bool fresh) {
    stages_.begin("run");
    KP_ASSIGN(RunnerAnswer ran, bench_.runner.run(fresh, 1, bench_.options.run_timeout_s));
    if (ran.kind != RunnerAnswer::Kind::ok) {
      broke(ran, "running");
      return Ran{};
    }
    if (!clean(ran.body)) return Ran{};
    Ran result{true, {}};
    KP_ASSIGN(result.comparison, compare(trial, ran.body));
    return result;
  }

  bool wrong(const Comparison& comparison, const Trial& trial) {
    std::string reason = failing_reason(comparison.leaves);
    return fault(Outcome::incorrect,
                 (reason.empty() ? "wrong output" : reason) + of_variant(trial.variant));
  }

  // Every trial, the task's own draw last: that is the one to be timed. The first runs on fresh
  // memory; those after it on what the run before left (its outputs, buffers and variables), as it
  // is in use: what is kept from call to call must not make a difference.
  Result<bool> verify() {
    const auto& trials = bench_.trials;
    for (std::size_t k = 1; k <= trials.size(); ++k) {
      const Trial& trial = trials[k % trials.size()];
      KP_ASSIGN(bool placed, place(trial));
      if (!placed) return false;
      if (k == 1) {
        KP_ASSIGN(bool loaded, load());
        if (!loaded) return false;
      }
      KP_ASSIGN(Ran ran, run(trial, k == 1));
      if (!ran.ok) return false;
      if (!ran.comparison.ok && k > 1) {
        KP_ASSIGN(Ran again, run(trial, true));
        if (!again.ok) return false;
        if (again.comparison.ok)
          return fault(
              Outcome::dishonest, "keeps values from one call to the next",
              "Right on fresh memory, wrong when outputs, buffers and variables are as the "
              "last call left them: " +
                  failing_reason(ran.comparison.leaves));
      }
      keep_worst(verdict().leaves, ran.comparison.leaves);
      if (!ran.comparison.ok) return wrong(ran.comparison, trial);
      ++verdict().seeds;
      keep_less_exact(verdict().accuracy_class, ran.comparison.accuracy_class);
    }
    return true;
  }

  Status time() {
    const Trial& own = bench_.trials.front();
    // A fresh run whose outputs the oracle has seen: what the timed runs' are held against.
    KP_ASSIGN(Ran ran, run(own, true));
    if (!ran.ok) return {};
    if (!ran.comparison.ok) {
      wrong(ran.comparison, own);
      return {};
    }
    stages_.begin("time");
    TimeHooks hooks;
    hooks.clean = [this](const Json& body) { return clean(body); };
    hooks.compare = [&](const Json& body) {
      auto comparison = compare(own, body);
      stages_.begin("time");
      return comparison;
    };
    hooks.broke = [this](const RunnerAnswer& answer) { broke(answer, "timing"); };
    hooks.fault = [this](Outcome outcome, std::string reason, std::string detail) {
      fault(outcome, std::move(reason), std::move(detail));
    };
    return time_candidate(bench_, own, verdict(), hooks);
  }

  const Bench& bench_;
  const Candidate& candidate_;
  Judged judged_;
  Stages stages_;
  ResolvedPlan plan_;
};

}  // namespace

Result<Judged> judge(const Bench& bench, const Candidate& candidate, const BuildCandidate& build) {
  return Judging(bench, candidate).go(build);
}

}  // namespace kp
