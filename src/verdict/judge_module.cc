#include "verdict/judge_module.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/rng.h"
#include "base/text.h"
#include "verdict/module_rules.h"
#include "verdict/timing.h"

namespace kp {

namespace {

constexpr int kOverheadCalls = 15, kWarmUp = 3;
constexpr std::size_t kFewestCalls = 12;
constexpr std::size_t kAhead = 2;       // processes that start while one is judged
constexpr double kRequestTimeout = 60;  // of what runs no candidate
constexpr double kCpuClockFloorMs = 2;
constexpr double kProbeShare = 0.15;  // of the calls, before which the GPU must be idle

class ModuleJudge {
 public:
  ModuleJudge(Oracle& oracle, const ModuleOptions& options, ModuleProcess process,
              std::string source)
      : oracle_(oracle),
        options_(options),
        process_(std::move(process)),
        source_(std::move(source)),
        rng_(secret_seed()) {}

  Result<Verdict> judge();

 private:
  // Each step gives false when the verdict is final.
  Status prepare();
  Result<bool> load();
  Result<bool> check_seeds();
  Result<bool> time_calls();
  std::uint64_t known_seed_other_than(std::uint64_t seed);
  Result<bool> observe();
  Result<bool> call(std::uint64_t seed, double timeout_s, ModuleSample* sample, bool probe);
  Result<Json> place(std::uint64_t seed, bool probe);
  Result<ModuleAnswer> run(double timeout_s, bool trusted);
  bool fault(Outcome outcome, std::string reason, std::string detail = "");
  bool dishonest(std::string evidence) { return fault(Outcome::dishonest, std::move(evidence)); }
  void merge(const Json& checked);
  void summarize();
  ModuleClock clocks() const {
    // On a CPU the process shares its cores with us, and wakes up when it can.
    bool cpu = options_.process.device == "cpu";
    return compare_clocks(samples_, overhead_, cpu ? kCpuClockFloorMs : kClockFloorMs);
  }
  void stage(std::string_view name);
  void note(std::string line) { verdict_.detail += (verdict_.detail.empty() ? "" : "\n") + line; }

  Oracle& oracle_;
  const ModuleOptions& options_;
  ModuleProcess process_;
  std::string source_;
  Rng rng_;
  Verdict verdict_;
  Json signature_;
  ModuleOverhead overhead_;
  std::vector<ModuleSample> samples_;
  std::vector<double> busy_;
  Stopwatch watch_;
  std::string stage_;
};

void ModuleJudge::stage(std::string_view name) {
  if (!stage_.empty()) verdict_.stages.emplace_back(stage_, watch_.seconds());
  stage_ = name;
  watch_ = Stopwatch();
  if (options_.progress && !name.empty()) options_.progress(name);
}

bool ModuleJudge::fault(Outcome outcome, std::string reason, std::string detail) {
  verdict_.outcome = outcome;
  verdict_.reason = std::move(reason);
  if (!detail.empty()) note(std::move(detail));
  verdict_.accuracy_class.clear();
  verdict_.timing.reset();
  verdict_.timings.clear();
  return false;
}

Result<Json> ModuleJudge::place(std::uint64_t seed, bool probe) {
  return oracle_.request({{"op", "module_place"}, {"seed", seed}, {"probe", probe}});
}

Result<ModuleAnswer> ModuleJudge::run(double timeout_s, bool trusted) {
  return process_.ask({{"op", "call"}}, timeout_s, trusted);
}

// Memory for the tensors, and what a call costs by itself: no candidate has been loaded yet.
Status ModuleJudge::prepare() {
  Json tensors = Json::array();
  const Json task = to_json(oracle_.task());
  for (const auto& t : task.value("tensors", Json::array())) tensors.push_back(t);
  KP_ASSIGN(ModuleAnswer memory,
            process_.ask({{"op", "memory"}, {"tensors", tensors}}, kRequestTimeout, true));
  if (memory.outcome != Outcome::correct) return fail("module runner: " + memory.reason);
  KP_TRY(
      oracle_.request({{"op", "module_open"}, {"tensors", memory.body.value("tensors", Json())}}));
  std::vector<double> wall_ms;
  for (int i = 0; i < kOverheadCalls + kWarmUp; ++i) {
    KP_TRY(place(options_.seeds.front(), false));
    KP_ASSIGN(ModuleAnswer answer, run(kRequestTimeout, true));
    if (answer.outcome != Outcome::correct) return fail("module runner: " + answer.reason);
    if (i >= kWarmUp) wall_ms.push_back(answer.wall_s * 1e3);
  }
  overhead_ = overhead_of(wall_ms);
  return {};
}

Result<bool> ModuleJudge::load() {
  KP_ASSIGN(signature_, oracle_.request({{"op", "module_signature"}}));
  KP_TRY(write_file(process_.scratch() / "candidate.py", source_));
  Json parameters = Json::array();
  const Json task = to_json(oracle_.task());
  for (const auto& t : task.value("tensors", Json::array()))
    if (string_or(t, "role", "") == "parameter") parameters.push_back(t);
  KP_ASSIGN(ModuleAnswer loaded, process_.ask({{"op", "load"},
                                               {"precision", name_of(oracle_.task().precision)},
                                               {"seed", signature_.value("init_seed", Json(0))},
                                               {"on_cpu", signature_.value("on_cpu", Json(false))},
                                               {"init", signature_.value("init", Json())},
                                               {"args", signature_.value("args", Json())},
                                               {"parameters", parameters}},
                                              options_.load_timeout_s));
  if (loaded.outcome != Outcome::correct)
    return fault(loaded.outcome, loaded.reason, loaded.detail);
  const Json counts = loaded.body.value("parameters", Json::object());
  if (!parameters.empty())
    note(fmt::format(
        "parameters: {} as the reference's, {} set to them by name, {} the module's own",
        int_or(counts, "same", 0), int_or(counts, "loaded", 0), int_or(counts, "own", 0)));
  return true;
}

void ModuleJudge::merge(const Json& checked) {
  std::vector<LeafError> leaves;
  for (const auto& entry : checked.value("leaves", Json::array()))
    leaves.push_back(leaf_error_from_json(entry));
  keep_worst(verdict_.leaves, leaves);
  keep_less_exact(verdict_.accuracy_class, string_or(checked, "accuracy_class", ""));
}

// One call on the inputs of a seed, with its outputs compared.
Result<bool> ModuleJudge::call(std::uint64_t seed, double timeout_s, ModuleSample* sample,
                               bool probe) {
  KP_ASSIGN(Json placed, place(seed, probe));
  if (probe) busy_.push_back(double_or(placed, "busy", 0));
  KP_ASSIGN(ModuleAnswer answer, run(timeout_s, false));
  if (answer.outcome != Outcome::correct)
    return fault(answer.outcome, answer.reason, answer.detail);
  if (sample != nullptr) {
    sample->claimed_ms = double_or(answer.body, "ms", -1);
    sample->wall_ms = answer.wall_s * 1e3;
  }
  KP_ASSIGN(Json checked,
            oracle_.request({{"op", "module_check"},
                             {"seed", seed},
                             {"digest", answer.body.value("digest", Json::array())}}));
  if (!bool_or(checked, "digest_ok", false))
    return dishonest("early answer: the outputs are not those that the process had answered for");
  const Json changed = checked.value("inputs_changed", Json::array());
  if (!changed.empty())
    return fault(Outcome::incorrect, "writes to the input " + changed[0].get<std::string>(),
                 "Inputs must keep their values.");
  merge(checked);
  if (bool_or(checked, "pass", false)) return true;
  std::string reason = failing_reason(verdict_.leaves);
  if (reason.empty()) reason = "wrong output";
  if (!samples_.empty())
    reason +=
        fmt::format(" (in call {}, after right ones)", samples_.size() + options_.seeds.size());
  return fault(Outcome::incorrect, std::move(reason));
}

Result<bool> ModuleJudge::check_seeds() {
  double timeout_s = options_.load_timeout_s;  // Triton compiles and tunes at the first call
  for (std::uint64_t seed : options_.seeds) {
    KP_ASSIGN(bool right, call(seed, timeout_s, nullptr, false));
    if (!right) return false;
    ++verdict_.seeds;
    timeout_s = options_.run_timeout_s;
  }
  return true;
}

// Never the inputs of the call before, where there are others: keeping the last answer gains
// nothing.
std::uint64_t ModuleJudge::known_seed_other_than(std::uint64_t seed) {
  std::vector<std::uint64_t> others;
  for (std::uint64_t s : options_.seeds)
    if (s != seed) others.push_back(s);
  return others.empty() ? seed : others[rng_.below(others.size())];
}

// Known and new inputs in an order that nobody can foresee.
Result<bool> ModuleJudge::time_calls() {
  Stopwatch watch;
  int fresh_left = options_.fresh_inputs;
  std::uint64_t seed = options_.seeds.back();  // check_seeds() ended with it
  for (int i = 0; i < options_.timed_calls; ++i) {
    int left = options_.timed_calls - i;
    bool late = watch.seconds() > options_.timing_budget_s;
    if (late && samples_.size() >= kFewestCalls && fresh_left == 0) break;
    bool fresh = late ? fresh_left > 0
                      : rng_.below(static_cast<std::uint64_t>(left)) <
                            static_cast<std::uint64_t>(fresh_left);
    seed = fresh ? secret_seed() : known_seed_other_than(seed);
    bool probe = busy_.size() < 2 || rng_.uniform() < kProbeShare || busy_.back() > 0.2;
    ModuleSample sample;
    sample.fresh = fresh;
    KP_ASSIGN(bool right, call(seed, options_.run_timeout_s, &sample, probe));
    if (fresh) {
      --fresh_left;
      KP_TRY(oracle_.forget(seed));
    }
    if (!right) return false;
    samples_.push_back(sample);
  }
  if (auto evidence = busy_evidence(busy_)) return dishonest(*evidence);
  if (auto evidence = clock_evidence(clocks())) return dishonest(*evidence);
  if (auto evidence = memory_evidence(samples_)) return dishonest(*evidence);
  summarize();
  return true;
}

void ModuleJudge::summarize() {
  std::vector<double> claimed;
  for (const auto& s : samples_) claimed.push_back(s.claimed_ms);
  ModuleClock clock = clocks();
  Timing timing = kp::summarize(claimed, "module", "cold");
  // Both clocks lie in the interval: the one in the process is believed only as far as ours goes.
  timing.ci95_ms.high = std::max(timing.ci95_ms.high, clock.outside_ms);
  verdict_.timing = timing;
  verdict_.timings = {timing};
  note(
      fmt::format("clocks: {:.4g} ms inside, {:.4g} ms outside (a call's own cost of {:.4g} ms "
                  "taken off; {:.3g} ms may be hidden from it)",
                  clock.claimed_ms, clock.outside_ms, overhead_.median_ms, clock.tolerance_ms));
}

std::string listed(const Json& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts.items())
    parts.push_back(fmt::format("{} x{}", name.substr(0, 80), dump_json(count)));
  return parts.empty() ? "none" : join(parts, ", ");
}

// In a call of its own, for profilers cost time.
Result<bool> ModuleJudge::observe() {
  KP_TRY(place(options_.seeds.front(), false));
  KP_ASSIGN(ModuleAnswer seen, process_.ask({{"op", "observe"}}, options_.load_timeout_s));
  if (seen.outcome != Outcome::correct) return fault(seen.outcome, seen.reason, seen.detail);
  const Json operators = seen.body.value("operators", Json::object());
  note("PyTorch operators that compute: " +
       (operators.is_object() ? listed(operators) : "unknown"));
  for (const auto& said : seen.body.value("notes", Json::array()))
    if (said.is_string()) note(said.get<std::string>());
  std::vector<std::string> patched;
  for (const auto& name : seen.body.value("patched", Json::array()))
    if (name.is_string()) patched.push_back(name.get<std::string>());
  if (!patched.empty()) return dishonest("patched: the candidate replaced " + join(patched, ", "));
  const Json kernels = seen.body.value("kernels", Json());
  if (!kernels.is_object()) return true;  // there is no GPU
  std::vector<std::string> own = own_kernels(source_, kernels);
  note(fmt::format("kernels of its own: {}", own.empty() ? "none" : join(own, ", ")));
  if (own.empty() && promises_kernels(source_))
    return dishonest("no kernel of its own: the source holds one, and a call launched only " +
                     listed(kernels));
  return true;
}

Result<Verdict> ModuleJudge::judge() {
  verdict_.baselines = options_.baselines;
  auto steps = [&]() -> Result<bool> {
    stage("prepare");
    KP_TRY(prepare());
    stage("load");
    KP_ASSIGN(bool go_on, load());
    if (!go_on) return false;
    stage("run");
    KP_ASSIGN(go_on, check_seeds());
    if (!go_on || !options_.timing) return go_on;
    stage("time");
    KP_ASSIGN(go_on, time_calls());
    if (!go_on) return false;
    stage("observe");
    return observe();
  };
  auto done = steps();
  stage("");
  process_.stop();
  auto closed = oracle_.request({{"op", "module_close"}});
  if (!done) return tl::make_unexpected(done.error());
  if (!closed) return tl::make_unexpected(closed.error());
  return verdict_;
}

}  // namespace

Result<Verdict> judge_module(Oracle& oracle, const ModuleOptions& options, const fs::path& path,
                             ModuleProcess process) {
  KP_CHECK(!options.seeds.empty());
  KP_ASSIGN(std::string source, read_file(path));
  if (oracle.task().kind != TaskKind::kernelbench)
    return fail(path.string() + ": a PyTorch module is a candidate of .py tasks only",
                "give the task as a KernelBench-format .py");
  Stopwatch watch;
  if (options.progress) options.progress("start module");
  KP_TRY(process.await_ready());
  double started = watch.seconds();
  ModuleJudge judge(oracle, options, std::move(process), std::move(source));
  KP_ASSIGN(Verdict verdict, judge.judge());
  verdict.stages.insert(verdict.stages.begin(), {"start", started});
  return verdict;
}

Result<ModuleProcess> ModuleProcesses::next() {
  while (left_ > 0 && begun_.size() < 1 + kAhead) {
    KP_ASSIGN(ModuleProcess process, ModuleProcess::begin(options_));
    begun_.push_back(std::move(process));
    --left_;
  }
  if (begun_.empty()) return ModuleProcess::begin(options_);
  ModuleProcess process = std::move(begun_.front());
  begun_.pop_front();
  return process;
}

}  // namespace kp
